"""Spooled record batches in temporary files: written once, read by position, removed with their handle.

Imports `engine.types` and `engine.errors`. Start at `spool.py`.
"""
