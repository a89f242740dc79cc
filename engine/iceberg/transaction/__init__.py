"""Iceberg transactions: commits and conflict detection.

Imports `engine.iceberg.snapshot`, `commit` and `writing`. Start at `transaction.py`.
"""
