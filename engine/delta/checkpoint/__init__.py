"""Reads classic, multi-part and v2 checkpoints column by column.

Imports `engine.delta.log` and `spec`. Start at `checkpoint_reader.py`.
"""
