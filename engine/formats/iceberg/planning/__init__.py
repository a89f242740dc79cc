"""Plans of statements and procedures that only Iceberg has.

Imports statements, plans and `engine.iceberg`. Start at `planner.py`.
"""
