"""Meaning: a statement goes in, Arrow batches or a commit come out.

The same statement means the same over Thrift, HTTP or in a test. See `engine/pipeline.py` for the road and its stages.
"""
