"""SQL functions of the catalog and of sessions.

Imports what its stages may (`engine/statements`). Start at `planning.py`.
"""
