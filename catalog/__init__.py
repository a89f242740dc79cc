"""Names, locations, owners and privileges for tables and other securable objects.

Does not depend on Delta, SQL text, Spark or wire protocols. Stores only metadata that a table's log does not have:
schema, properties and constraints stay in the log and are never copied here. Imports neither the engine nor the front
ends. Start at `entries.py` for the values, `catalog.py` for the engine's interface, and `changes.py` for changes.
"""
