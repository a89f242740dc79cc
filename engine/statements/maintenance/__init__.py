"""OPTIMIZE, VACUUM, RESTORE and other maintenance, which formats plan.

Imports what its stages may (`engine/statements`). Start at `spec.py`.
"""
