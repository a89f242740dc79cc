"""Execution of Iceberg's procedures: their commits, the files that they remove, and their answers.

Imports the plans of `engine.formats.iceberg.planning` and `engine.execution.writes`. Start at `writer.py`.
"""
