"""Names and grants: where a table is, whose it is, who may do what with it.

Knows nothing of Delta, SQL text, Spark or the wire, and stores only what no log holds. Schema, properties and
constraints live in the Delta log and are never copied here.
"""
