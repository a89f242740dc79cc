"""SQL text: dialect, parser and splicing. The only package that imports sqlglot; a parsed statement leaves it as a
value.

Imports `engine.types`, `engine.pruning`'s predicates and `engine.runtime`. Start at `parser.py` and `query/query.py`;
the grammars of statements are in the packages of the statement families.
"""
