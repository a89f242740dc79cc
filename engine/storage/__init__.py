"""Storage: table locations, path confinement, put-if-absent, and deletion vector bitmaps.

Imports file access from `catalog.store`, `engine.types` and `engine.errors`; `unlisted_folders.py` also imports the
catalog. Start at `storage.py`; `confinement.py` decides which paths a log may name.
"""
