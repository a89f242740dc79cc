"""The execute stage: a plan becomes a row stream, a result, or a staged write.

Imports plans, `engine.spark`, and the families that execute their own plans. Start at `execute.py`; `writes/` contains
row writes.
"""
