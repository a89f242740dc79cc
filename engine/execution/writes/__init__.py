"""Writes: rows become staged files, and staged files become a version, whatever the format of the table."""
