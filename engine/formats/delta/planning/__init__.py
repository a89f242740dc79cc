"""Plans for Delta-only statements, and for ALTER TABLE on Delta tables.

Imports statements, `engine.planning` and `engine.delta`. Start at `planner.py`.
"""
