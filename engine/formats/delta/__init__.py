"""Delta as a table format, on top of the library `engine.delta`.

Imports `engine.delta` and `engine.tables`; `planning` and `writing` also import what statement families import. Start
at `delta_format.py`.
"""
