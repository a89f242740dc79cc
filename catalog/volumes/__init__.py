"""Volumes: their paths, and changes to them.

Imports catalog values and `catalog.discovery.roots`. Start at `paths.py`.
"""
