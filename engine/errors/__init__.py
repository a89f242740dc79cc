"""Errors that are raised with more than a condition and its parameters, and how those of libraries become ours.

Imports conditions of the catalog alone. Start at `catalog/conditions.py`, which makes a class of each condition.
"""
