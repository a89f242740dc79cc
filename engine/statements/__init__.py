"""The statements: one package per family, which has everything about its statements.

A family's files are named after the stage that they belong to, `planning_keys.py` for instance to planning:

    statement   the values that a text is parsed to: frozen dataclasses
    grammar     tokens → values, and HEADS: the first words of its statements
    binding     names → catalog entries and snapshots, if that is not the common case
    planning    analyzed statement → plan
    execution   what answers it, if that is not up to shared code
    spec        a `StatementSpec` for each statement: binding, required privileges, effect on protected tables, …

A family of few lines is `spec.py` alone. Start at `registry.py`, which lists the families, and `spec.py`, which says
what each has to declare. Each stage imports what is below it in `tests/tidy/test_layers.py`: binding, authorization,
planning, enforcement and `engine.spark`, which know no family; formats, the pipeline and the front ends are above.
"""
