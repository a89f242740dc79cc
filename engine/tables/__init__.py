"""Format-neutral table interfaces: snapshots, scans, changes, row constraints, transactions.

Imports `engine.types`, `engine.pruning` and `engine.storage`, and no format. Start at `formats.py` and `snapshot.py`.
"""
