"""The commands of `delta-gateway`, a module each.

Imports everything below `gateway`. Start at `serve.py`; `gateway/__main__.py` chooses.
"""
