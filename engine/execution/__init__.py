"""Execute: a plan becomes a stream of rows, an answer, or a staged write.

Imports plans, `engine.spark`, and the families that execute their own plans. Start at `execute.py`; `writes/` has the
writes of rows.
"""
