"""Queries: where a text names tables, and how other names are put there."""
