"""Query plans: scans over listed files, metadata-only answers, reads of a target table.

Imports `engine.planning.plans`, `engine.pruning` and `engine.sql.query`. Start at `read_plan.py`.
"""
