"""The commands of `delta-gateway`, one module each.

Imports everything below `gateway`. Start at `serve.py`; `gateway/__main__.py` selects the command.
"""
