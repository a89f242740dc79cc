"""CALL: Iceberg's procedures, planned by the format.

Imports as its stages allow (`engine/statements`). Start at `grammar.py`.
"""
