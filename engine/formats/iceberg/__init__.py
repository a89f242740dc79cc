"""Iceberg as a format of tables, over the library `engine.iceberg`.

Imports `engine.iceberg`, `engine.tables` and the clients of REST catalogs; its `planning` and `procedures` also what
families of statements import. Start at `iceberg_format.py`.
"""
