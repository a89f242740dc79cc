"""Conditions of statements that belong to no single room; each room declares its own beside its code."""
