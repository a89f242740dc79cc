"""Bind: names to relations, each table pinned at one version.

Imports the catalog, `engine.tables` and values of `engine.sql.query`; names of one family alone are bound in the
family. Start at `binder.py`; `bound.py` has the values that later stages get.
"""
