"""ALTER TABLE: one value for each change of a table's definition.

Imports what its stages may (`engine/statements`). Start at `planning.py`.
"""
