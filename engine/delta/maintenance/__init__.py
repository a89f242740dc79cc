"""Upkeep of a table after a commit: checkpoints, checksums, clean-up of the log, files that nothing needs.

Imports `engine.delta.commit` and what that may import. Start at `after_commit.py`.
"""
