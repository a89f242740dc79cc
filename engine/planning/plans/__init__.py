"""The closed union of plans: values only.

Imports `engine.binding.bound` and `engine.tables`. Start at `plan.py`.
"""
