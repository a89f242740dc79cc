"""The sample lake that is served if no directory is configured.

Imports `engine.delta`. Start at `lake.py`.
"""
