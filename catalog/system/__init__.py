"""Columns for the relations in `information_schema` and `system`.

Imports only catalog values; `engine/binding` produces the rows. Start at `system_views.py`.
"""
