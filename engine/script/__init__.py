"""Executes statements that contain others: EXECUTE IMMEDIATE, IDENTIFIER and SQL scripts.

Each inner statement passes through the pipeline separately. Imports values and grammars from
`engine.statements.scripting` and `variables`, and no stage. Start at `interpreter.py`.
"""
