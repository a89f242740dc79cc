"""Privileges, owners, groups and external locations.

Imports as its stages allow (`engine/statements`). Start at `spec.py`.
"""
