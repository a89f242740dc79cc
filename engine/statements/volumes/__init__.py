"""Volumes and the files in them.

Imports as its stages allow (`engine/statements`). Start at `execution.py`.
"""
