"""Lists for drivers: schemas, tables, columns, functions, keys.

Imports what its stages may (`engine/statements`). Start at `execution.py`.
"""
