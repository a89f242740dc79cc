"""Queries.

Imports what its stages may (`engine/statements`). Start at `spec.py`.
"""
