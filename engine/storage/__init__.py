"""File systems: locations of tables, confinement of their paths, put-if-absent, and bitmaps of deleted rows.

Imports file access of `catalog.store`, `engine.types` and `engine.errors`. Start at `storage.py`; `confinement.py`
decides which paths a log may name.
"""
