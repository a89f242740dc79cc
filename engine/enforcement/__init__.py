"""Enforces a table's rules on rows that are written to it: constraints, generated columns, identity columns, casts.

Imports plans, expressions from `engine.sql`, and `engine.tables`. Start at `enforce.py`, which applies the rules in
order.
"""
