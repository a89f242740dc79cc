"""Plans of queries: scans of listed files, answers from the log, reads of the target of a change.

Imports `engine.planning.plans`, `engine.pruning` and `engine.sql.query`. Start at `read_plan.py`.
"""
