"""Columns of the relations in `information_schema` and `system`.

Imports values of the catalog alone; the rows are made in `engine/binding`. Start at `system_views.py`.
"""
