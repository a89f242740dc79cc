"""Metadata commits: updates as values, the fold that applies them, and the stores for metadata versions.

Imports `engine.iceberg.spec` and `engine.storage`. Start at `updates.py`; `file_store.py` writes a version.
"""
