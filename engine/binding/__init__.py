"""The bind stage: resolves names to relations and pins each table at one version.

Imports the catalog, `engine.tables` and values of `engine.sql.query`; names that belong to one statement family are
bound in the family. Start at `binder.py`; `bound.py` has the values for later stages.
"""
