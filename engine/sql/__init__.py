"""SQL text: the only importer of sqlglot. Dialect, parser and splicing; a statement leaves as a value."""
