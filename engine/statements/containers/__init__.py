"""CREATE, ALTER and DROP for catalogs and schemas.

Imports as its stages allow (`engine/statements`). Start at `spec.py`.
"""
