"""Changes of an Iceberg table's metadata: updates as values, their fold, and stores of versions.

Imports `engine.iceberg.spec` and `engine.storage`. Start at `updates.py`; `file_store.py` puts a version.
"""
