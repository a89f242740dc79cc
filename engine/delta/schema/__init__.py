"""Schemas of tables: their rules, their changes, column mapping, type widening."""
