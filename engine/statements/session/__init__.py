"""USE, SET and RESET.

Imports as its stages allow (`engine/statements`). Start at `execution.py`.
"""
