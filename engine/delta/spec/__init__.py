"""The log's contents as pure values: actions, table features, properties, file names, statistics.

This package does no I/O. Wire spellings (`metaData`, `modificationTime`, `txn`) appear in this package only. Imports
`engine.types` and the paths and bitmaps from `engine.storage`. Start at `actions.py` and `features.py`.
"""
