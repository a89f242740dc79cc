"""Procedures of Iceberg tables at work: their commits, the files that they remove, and what they answer."""
