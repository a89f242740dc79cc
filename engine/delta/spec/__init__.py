"""What the log is made of, as pure values: actions, schema, file names, statistics, partition values, deletion vectors.

Nothing here does I/O. Wire spellings (`metaData`, `modificationTime`, `txn`) appear in this package only.
"""
