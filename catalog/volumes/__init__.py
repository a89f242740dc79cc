"""Volumes: their paths, and changes to them.

Imports catalog values and `catalog.roots`. Start at `paths.py`.
"""
