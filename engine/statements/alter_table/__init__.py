"""ALTER TABLE: one value for each definition change.

Imports as its stages allow (`engine/statements`). Start at `planning.py`.
"""
