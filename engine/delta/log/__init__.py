"""Lists, reads and writes the files in `_delta_log`.

Imports `engine.delta.spec` and `engine.storage`. Start at `log_segment.py` for the files that define a version, and at
`commit_reader.py` for their contents.
"""
