"""The change data feed for a version range.

Imports `engine.delta.snapshot` and its imports. Start at `change_feed.py`.
"""
