"""SQL text: the only importer of sqlglot. Dialect, parser and splicing; a statement leaves as a value.

Imports `engine.types`, `engine.pruning`'s predicates and `engine.runtime`. Start at `parser.py` and `query/query.py`;
the grammars of statements are in their families.
"""
