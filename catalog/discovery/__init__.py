"""Discovery of tables in folders, and permitted table locations.

Imports catalog values and file access (`catalog.store`), and sends requests to REST catalogs to find a location's
owner. Start at `discovery.py`; `catalog/roots.py` and `places.py` decide which locations are permitted.
"""
