"""Results until they are fetched, and links to them.

Imports `engine.spool` and `engine.runtime`. Start at `result_buffer.py`; `result_store.py` has the limits for all
results.
"""
