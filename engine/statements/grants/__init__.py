"""Privileges, owners, groups and external locations.

Imports what its stages may (`engine/statements`). Start at `spec.py`.
"""
