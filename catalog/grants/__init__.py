"""Privileges, owners, groups, and personal access tokens.

Imports values of the catalog, and secret files for tokens; decisions are pure. Start at `rights.py` for the decision,
`privileges.py` for the list of privileges, `right_changes.py` for GRANT and REVOKE.
"""
