"""Volumes: their paths, and changes of them.

Imports values of the catalog and `catalog.discovery.roots`. Start at `paths.py`.
"""
