"""CALL: Iceberg's procedures, which its format plans.

Imports what its stages may (`engine/statements`). Start at `grammar.py`.
"""
