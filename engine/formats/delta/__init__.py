"""Delta as a format of tables, over the library `engine.delta`.

Imports `engine.delta` and `engine.tables`; its `planning` and `writing` also what families of statements import. Start
at `delta_format.py`.
"""
