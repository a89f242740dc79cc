"""The sample lake that is served if no folder is configured.

Imports `engine.delta`. Start at `lake.py`.
"""
