"""Execution of statements that only Delta has: OPTIMIZE, VACUUM, RESTORE, clones, conversions, repairs.

Imports the plans of `engine.formats.delta.planning` and `engine.execution.writes`. Start at `writer.py`.
"""
