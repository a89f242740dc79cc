"""Statements that write rows: INSERT, DELETE, UPDATE, MERGE, TRUNCATE."""
