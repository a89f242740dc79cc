"""Executes Iceberg's procedures: commits, file removal, and results.

Imports the plans of `engine.formats.iceberg.planning` and `engine.execution.writes`. Start at `writer.py`.
"""
