"""Volumes and the files in them.

Imports what its stages may (`engine/statements`). Start at `execution.py`.
"""
