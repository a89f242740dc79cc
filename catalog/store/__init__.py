"""The catalog's stores: generations of its state, in files or in memory, and access to files and object stores.

Imports entries with their grants and policies, but not the catalog's rules. Start at `store.py` for the contract,
`file_store.py` for the file layout, and `credentials.py` for the keys of object stores.
"""
