"""The lineage of tables: which tables, views and files a table's content came from, by the statements that wrote it.

It is stored next to the catalog's objects, as saved queries are: a write must not advance the catalog's generation, and
an unreadable edge must not make the catalog unreadable.

Imports the catalog alone. Start at `edges.py`.
"""
