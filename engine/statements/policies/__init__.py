"""Row filters, column masks, tags, and policies by tag.

Imports as its stages allow (`engine/statements`). Start at `planning.py`.
"""
