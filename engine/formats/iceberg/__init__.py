"""Iceberg as a table format, on top of the library `engine.iceberg`.

Imports `engine.iceberg`, `engine.tables` and the REST catalog clients; `planning` and `procedures` also import what
statement families import. Start at `iceberg_format.py`.
"""
