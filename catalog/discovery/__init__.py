"""Discovery of tables in folders, and the places where tables may be.

Imports values of the catalog and file access (`catalog.store`), and asks REST catalogs whose a place is. Start at
`discovery.py`; `roots.py` and `places.py` decide about locations.
"""
