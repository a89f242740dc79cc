"""EXPLAIN.

Imports what its stages may (`engine/statements`). Start at `planning.py`.
"""
