"""Statements that define or write: DDL and INSERT, word by word."""
