"""Backups of everything but tables: the catalog with its grants, users, tokens, and the audit log.

Imports the catalog, `gateway.audit`, `gateway.authenticators` and `gateway.configuration`. Start at `parts.py`;
`archive.py` has the format.
"""
