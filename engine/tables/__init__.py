"""Tables as every format offers them: snapshots, scans, changes, rules for rows, transactions.

Imports `engine.types`, `engine.pruning` and `engine.storage`, and no format. Start at `formats.py` and `snapshot.py`.
"""
