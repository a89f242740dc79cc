"""MERGE.

Imports as its stages allow (`engine/statements`). Start at `planning.py`.
"""
