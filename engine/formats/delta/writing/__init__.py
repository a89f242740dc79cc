"""Statements that only Delta has, written: what the writer of every format asks through `engine.formats.writing`."""
