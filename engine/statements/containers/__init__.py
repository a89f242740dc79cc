"""CREATE, ALTER and DROP of catalogs and schemas.

Imports what its stages may (`engine/statements`). Start at `spec.py`.
"""
