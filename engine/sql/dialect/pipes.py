"""Parses piped queries (`FROM t |> WHERE … |> SELECT …`) to find the names in them.

sqlglot turns each operator into a CTE, which moves names out of their original scope and fails on half of Spark's
operators. Here the operators are attached to the query that they follow: joins and aliases join its sources, everything
else is walked like the query's own clauses. Names have the same meaning in Spark: a table name stays visible along the
pipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.tokenizer_core import TokenType

# Argument of a `Select`: the expressions and queries in its pipe operators.
PIPED = "piped"

# Argument of a `Select`: the `TableAlias` nodes from `|> AS name`.
PIPE_ALIASES = "pipe_aliases"

_LISTS = ("SELECT", "EXTEND", "SET", "DROP", "AGGREGATE")


class PipeParser(DatabricksParser):
    """Parses pipe operators into :data:`PIPED`, :data:`PIPE_ALIASES` and a `Select`'s joins."""

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        query = super()._parse_select(*args, **kwargs)
        if isinstance(query, exp.Values) and self._match(TokenType.PIPE_GT, advance=False):
            return self._parse_pipe_syntax_query(query)
        return query

    def _parse_pipe_syntax_query(self, query: exp.Expr) -> exp.Query:
        select = query if isinstance(query, exp.Select) else _wrap(query)
        while self._match(TokenType.PIPE_GT):
            start = self._index
            self._parse_pipe_operator(select)
            if self._index == start:
                self.raise_error("a pipe operator is expected")
        return select

    def _parse_pipe_operator(self, select: exp.Select) -> None:
        if self._match_texts(_LISTS):
            operator = self._prev.text.upper()
            hint = self._parse_hint()
            if hint is not None:
                select.set("hint", hint)
            self._match_set(self.DISTINCT_TOKENS)
            _extend(select, PIPED, self._parse_expressions())
            if operator == "AGGREGATE" and self._match(TokenType.GROUP_BY):
                _extend(select, PIPED, self._parse_expressions())
            elif operator == "SELECT":  # with its own clauses, for example WINDOW
                self._parse_pipe_clauses(select, exp.Select())
        elif self._match(TokenType.ALIAS):
            _extend(select, PIPE_ALIASES, [self._parse_table_alias()])
        elif self._curr.token_type in (TokenType.PIVOT, TokenType.UNPIVOT):
            _extend(select, PIPED, self._parse_pivots() or [])
        else:
            clauses = exp.Select()
            operation = self.parse_set_operation(clauses)
            if operation is not None:
                _extend(select, PIPED, [operation.expression])
            else:
                self._parse_pipe_clauses(select, clauses)

    def _parse_pipe_clauses(self, select: exp.Select, clauses: exp.Select) -> None:
        """Parses WHERE, JOIN, LATERAL VIEW, ORDER BY, LIMIT, …: any query clauses."""
        self._parse_query_modifiers(clauses)
        for key, value in clauses.args.items():
            values = value if isinstance(value, list) else [value]
            _extend(select, key if key in ("joins", "laterals") else PIPED, values)


def _wrap(query: exp.Expr) -> exp.Select:
    """Returns `SELECT * FROM (query)`."""
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=query)))


def _extend(select: exp.Select, key: str, values: Sequence[exp.Expr | None]) -> None:
    for value in values:
        if value is not None:
            select.append(key, value)
