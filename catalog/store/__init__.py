"""Stores of the catalog: generations of its state, in files or in memory, and access to files and object stores.

Imports entries with their grants and policies, credentials of `catalog.rest`, and no rule of the catalog. Start at
`store.py` for the contract and `file_store.py` for the layout of files.
"""
