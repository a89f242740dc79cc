"""CREATE TABLE, clones and conversions, and DROP TABLE.

Imports as its stages allow (`engine/statements`). Start at `planning.py`.
"""
