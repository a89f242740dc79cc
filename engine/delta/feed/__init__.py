"""The change data feed of a range of versions.

Imports `engine.delta.snapshot` and what that may import. Start at `change_feed.py`.
"""
