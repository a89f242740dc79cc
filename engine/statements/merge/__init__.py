"""MERGE."""
