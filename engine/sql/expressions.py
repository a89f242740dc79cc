"""Expressions that a table's log keeps as text: constraints, generated columns, defaults.

Spark evaluates them; here a text is only proven to be one whole expression, so that it can stand where an expression
stands and nothing else comes in with it, and the columns in it are found.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.sql.dialect import SyntaxFailure, parse_query_tree, tokenize
from engine.sql.errors import StatementSyntaxError, UnsupportedClause
from engine.sql.parser import syntax_error


@dataclass(frozen=True, slots=True)
class Expression:
    """`columns` are the names as written, without quotes; a nested field's has several parts."""

    text: str
    columns: tuple[tuple[str, ...], ...]

    @property
    def in_parentheses(self) -> str:
        """Safe to put among other text: a comment at its end ends with it."""
        return f"({self.text}\n)"


def parse_expression(text: str) -> Expression:
    """Raises `StatementSyntaxError` for what is no expression, `UnsupportedClause` for a subquery."""
    select = f"SELECT {text}\n"
    try:
        tree = parse_query_tree(tokenize(select), select)
    except (SyntaxFailure, SqlglotError) as failure:
        raise _no_expression(text) from failure
    if not isinstance(tree, exp.Select) or any(tree.args[clause] for clause in tree.args if clause != "expressions"):
        raise _no_expression(text)
    if len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Alias | exp.Star):
        raise _no_expression(text)
    (root,) = tree.expressions
    if root.find(exp.Query) is not None:
        raise UnsupportedClause("A subquery in a constraint, a generated column or a default", "Use columns alone.")
    columns = {tuple(part.name for part in column.parts) for column in root.find_all(exp.Column)}
    return Expression(text, tuple(sorted(columns)))


def _no_expression(text: str) -> StatementSyntaxError:
    return syntax_error(text, "one expression is expected", 0)
