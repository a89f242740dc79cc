"""A table at one version: log replay, live files, statistics, deletion vectors, history.

Imports `engine.delta.definition`, `checkpoint` and `log`. Start at `snapshot.py`; `replay.py` reads the log.
"""
