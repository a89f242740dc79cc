"""SHOW.

Imports as its stages allow (`engine/statements`). Start at `execution.py`.
"""
