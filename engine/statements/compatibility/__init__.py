"""Statements of other systems that clients send, about what does not exist here.

Imports what its stages may (`engine/statements`). Start at `spec.py`.
"""
