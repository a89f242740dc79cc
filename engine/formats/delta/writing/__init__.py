"""Executes Delta-only statements: OPTIMIZE, VACUUM, RESTORE, clones, conversions, repairs.

Imports the plans of `engine.formats.delta.planning` and `engine.execution.writes`. Start at `writer.py`.
"""
