"""Writes to Iceberg tables: what one commits, and what it conflicts with."""
