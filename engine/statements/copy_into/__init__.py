"""COPY INTO: files of a folder, each loaded once.

Imports what its stages may (`engine/statements`). Start at `spec.py`.
"""
