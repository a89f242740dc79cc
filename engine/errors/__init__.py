"""Errors that need more than a condition and its parameters, and the translation of library errors.

Imports only conditions from the catalog. Start at `catalog/conditions.py`, which creates a class for each condition.
"""
