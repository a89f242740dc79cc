"""Meaning: a statement goes in, Arrow batches or a commit come out.

The same statement means the same over Thrift, HTTP or in a test. Imports the catalog and no front end; its packages
import those of the lower lines of `ROOMS` in `tests/tidy/test_layers.py`. Start at `pipeline.py`, which shows the
stages, then `statements/registry.py`; `main.py` puts the parts together.
"""
