"""The authorize stage: a statement's required privileges, and restrictions on tables with row filters or column masks.

Imports `engine.binding` and the catalog. Start at `authorize.py`; `required_privileges.py` has the privileges that
several families require, `policies.py` the effects on protected tables.
"""
