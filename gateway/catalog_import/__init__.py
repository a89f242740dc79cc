"""Imports from other catalogs: schemas, tables by location, views, comments and grants become SQL statements.

The statements run on a server with the rights of the user who imports. Imports parsed statements from `engine`, and
nothing else of the gateway. Start at `objects.py` for the objects and their statements; each source is a module that
yields such objects.
"""
