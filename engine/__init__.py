"""The engine: receives a statement and returns Arrow batches or commits a version.

The same statement has the same meaning over Thrift, HTTP or in a test. Imports the catalog and no front end; its
packages import packages from lower lines in `LAYERS` in `tests/tidy/test_layers.py`. Start at `pipeline.py`, which
shows the stages, then `statements/registry.py`; `main.py` assembles the engine.
"""
