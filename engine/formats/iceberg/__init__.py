"""Iceberg as a format of tables: how its own statements and procedures run, over `engine.iceberg`."""
