"""Row filters, column masks, tags, and policies by tag.

Imports what its stages may (`engine/statements`). Start at `planning.py`.
"""
