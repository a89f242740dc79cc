"""A session and one run of a statement: settings, variables, profile, results.

Imports `engine.tables`, `engine.spool` and what these import. Start at `session_state.py` and `request.py`.
"""
