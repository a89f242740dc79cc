"""Writes: rows become staged files, and staged files become a version, whatever the format of the table.

Imports plans and `engine.spark`. Start at `staged_write.py` for the value that execution yields and `commit.py` for
what becomes of it.
"""
