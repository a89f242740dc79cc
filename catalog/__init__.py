"""Names and grants: where a table is, whose it is, who may do what with it.

Knows nothing of Delta, SQL text, Spark or wire protocols, and stores only what no log holds. Schema, properties and
constraints live in the table's own log and are never copied here. Imports nothing of the engine and the front ends.
Start at `entries.py` for the values, `catalog.py` for the interface of the engine, and `changes.py` for what a change
is.
"""
