"""Saved queries: texts that users keep on the server, in folders, and share with others.

They are stored next to the catalog's objects and not among them: a text that is saved every minute must not advance the
catalog's generation, and an unreadable text must not make the catalog unreadable.

Imports the catalog alone. Start at `queries.py`.
"""
