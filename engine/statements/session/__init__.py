"""USE, SET and RESET.

Imports what its stages may (`engine/statements`). Start at `execution.py`.
"""
