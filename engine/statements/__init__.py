"""SQL statements: one package per statement family, which contains everything about its statements.

A family's files are named after their pipeline stage; `planning_keys.py`, for instance, belongs to planning:

    statement   the values that a text is parsed to: frozen dataclasses
    grammar     tokens → values, and LEADING_WORDS: the first words of its statements
    binding     names → catalog entries and snapshots, if that is not the common case
    planning    analyzed statement → plan
    execution   what answers it, if that is not up to shared code
    spec        a `StatementSpec` for each statement: binding, required privileges, effect on protected tables, …

A small family is `spec.py` alone. Start at `registry.py`, which lists the families, and `spec.py`, which defines the
required declarations. Each stage imports the layers below it in `tests/tidy/test_layers.py`: binding, authorization,
planning, enforcement and `engine.spark`, which are independent of families; execution, formats, the pipeline and the
front ends are above.
"""
