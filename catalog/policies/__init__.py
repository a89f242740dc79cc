"""Row filters, column masks, tags, and tag-based policies, as values and changes.

Imports catalog values and `catalog.grants`. Start at `policies.py`; `effective_policies.py` decides which policies hold
for a table.
"""
