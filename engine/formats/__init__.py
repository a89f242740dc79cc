"""The table formats' adapters: how each format creates and loads tables, and plans and writes its own statements.

Imports the formats' libraries, the values of statements, plans and staged writes. Start at `registry.py`.
"""
