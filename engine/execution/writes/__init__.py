"""Writes: rows become staged files, and staged files become a version, for any table format.

Imports plans and `engine.spark`. Start at `staged_write.py` for the value that execution yields and `commit.py` for its
commit.
"""
