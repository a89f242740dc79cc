"""COMMENT ON.

Imports as its stages allow (`engine/statements`). Start at `spec.py`.
"""
