"""Schemas for Delta tables: column mapping, ids, type widening, columns with statistics.

Imports `engine.delta.spec` and `engine.types`. Start at `column_mapping.py`.
"""
