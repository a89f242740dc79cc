"""SQL scripts, EXECUTE IMMEDIATE and the IDENTIFIER clause, which `engine/script` runs.

Imports what its stages may (`engine/statements`). Start at `grammar.py`.
"""
