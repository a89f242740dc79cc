"""Plans of statements that only Delta has, and of ALTER TABLE on Delta tables.

Imports statements, `engine.planning` and `engine.delta`. Start at `planner.py`.
"""
