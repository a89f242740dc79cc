"""SQL functions in the catalog and in sessions.

Imports as its stages allow (`engine/statements`). Start at `planning.py`.
"""
