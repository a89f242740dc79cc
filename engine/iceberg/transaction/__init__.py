"""Transactions of Iceberg tables: what one commits, and what it conflicts with.

Imports `engine.iceberg.snapshot`, `commit` and `writing`. Start at `transaction.py`.
"""
