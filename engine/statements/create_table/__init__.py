"""CREATE TABLE, its copies and conversions, and DROP TABLE.

Imports what its stages may (`engine/statements`). Start at `planning.py`.
"""
