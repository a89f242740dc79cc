"""OPTIMIZE, VACUUM, RESTORE and other maintenance, which formats plan.

Imports as its stages allow (`engine/statements`). Start at `spec.py`.
"""
