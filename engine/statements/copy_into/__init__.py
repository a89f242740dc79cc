"""COPY INTO: loads each file in a folder once.

Imports as its stages allow (`engine/statements`). Start at `spec.py`.
"""
