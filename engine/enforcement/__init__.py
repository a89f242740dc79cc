"""Enforce: the rules of a table for the rows that are written to it.

Imports plans, expressions of `engine.sql` and `engine.tables`. Start at `rules.py`, which has the rules in the order in
which they apply.
"""
