"""SQL scripts, EXECUTE IMMEDIATE and the IDENTIFIER clause, executed by `engine/script`.

Imports as its stages allow (`engine/statements`). Start at `grammar.py`.
"""
