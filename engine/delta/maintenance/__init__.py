"""Table maintenance after a commit: checkpoints, checksums, log cleanup, unused files.

Imports `engine.delta.commit` and its imports. Start at `after_commit.py`.
"""
