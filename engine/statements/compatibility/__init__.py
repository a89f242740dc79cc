"""Other systems' statements that clients send, about objects that do not exist here.

Imports as its stages allow (`engine/statements`). Start at `spec.py`.
"""
