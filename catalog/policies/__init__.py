"""Row filters, column masks, tags, and policies by tag, as values and changes of them.

Imports values of the catalog and `catalog.grants`. Start at `policies.py`; `effective_policies.py` decides which hold
for a table.
"""
