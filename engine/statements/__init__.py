"""The statements: one package per family, which has everything about its statements.

A family's files are named after the stage that they belong to, `planning_keys.py` for instance to planning:

    statement   the values that a text is parsed to: frozen dataclasses
    grammar     tokens → values, and HEADS: the first words of its statements
    planning    analyzed statement → plan
    execution   what answers it, if that is not up to shared code
    spec        a `StatementSpec` for each statement: binding, required privileges, effect on protected tables, …

Start at `registry.py`, which lists the families, and `spec.py`, which says what each has to declare. Values may be
imported from everywhere, grammars from `engine.sql` upward; the other stages import what is below them in
`tests/tidy/test_layers.py`.
"""
