"""The files of `_delta_log`: listed, read and written.

Imports `engine.delta.spec` and `engine.storage`. Start at `log_segment.py` for which files define a version, and
`commit_reader.py` for their contents.
"""
