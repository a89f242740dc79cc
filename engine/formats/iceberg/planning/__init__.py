"""Plans for Iceberg-only statements and procedures.

Imports statements, plans and `engine.iceberg`. Start at `planner.py`.
"""
