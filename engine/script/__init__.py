"""Execution of statements that hold others: EXECUTE IMMEDIATE, IDENTIFIER and SQL scripts.

Each statement inside passes the pipeline by itself. Imports values and grammars of `engine.statements.scripting` and
`variables`, and no stage. Start at `interpreter.py`.
"""
