"""Writes that keep the files of tables in order: the same rows in other files."""
