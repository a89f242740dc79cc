"""Upkeep of Iceberg tables, as values: which references move, which snapshots expire, which files nobody needs."""
