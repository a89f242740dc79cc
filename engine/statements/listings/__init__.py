"""Metadata listings for drivers: schemas, tables, columns, functions, keys.

Imports as its stages allow (`engine/statements`). Start at `execution.py`.
"""
