"""The contents of the log as pure values: actions, table features, properties, file names, statistics.

Nothing here does I/O. Wire spellings (`metaData`, `modificationTime`, `txn`) appear in this package only. Imports
`engine.types` and `engine.storage`'s paths and bitmaps. Start at `actions.py` and `features.py`.
"""
