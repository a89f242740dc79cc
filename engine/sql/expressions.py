"""Expressions that a table's log keeps as text: constraints, generated columns, defaults.

Spark evaluates them; here a text is only proven to be one whole expression, so that it can be put where an expression
is expected and nothing else comes in with it, and the columns in it are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from catalog.conditions import StatementSyntaxError, UnsupportedClause
from catalog.errors import SqlError
from engine.pruning.predicates import Predicate
from engine.sql.dialect.dialect import SyntaxFailure, parse_query_tree, tokenize
from engine.sql.parser import syntax_error
from engine.sql.query.bodies import has_queried_body
from engine.sql.query.conditions import parse_condition
from engine.sql.query.source_text import copied, joined
from engine.sql.query.values import Span

_HEAD = "SELECT "


@dataclass(frozen=True, slots=True)
class Expression:
    """`columns` are the names as written, without quotes; a nested field's has several parts."""

    text: str
    columns: tuple[tuple[str, ...], ...]
    has_subquery: bool = False
    has_star: bool = False
    """It names all columns there are by `*`: not of what is in the FROM of a query in it."""

    @property
    def in_parentheses(self) -> str:
        """Safe to put among other text: a comment at its end ends with it."""
        return joined(("(", self.text, "\n)"))


def parse_expression(text: str, subquery: SqlError | None = None) -> Expression:
    """Raises `StatementSyntaxError` for what is no expression, `subquery` (or `UnsupportedClause`) for a subquery."""
    expression = parse_any_expression(text)
    if expression.has_subquery:
        raise subquery or UnsupportedClause(
            "A subquery in a constraint, a generated column or a default", "Use columns alone."
        )
    return expression


def parse_any_expression(text: str) -> Expression:
    """As :func:`parse_expression`, with subqueries, whose columns are among those of the expression."""
    root = _tree(text)
    columns = {tuple(part.name for part in column.parts) for column in root.find_all(exp.Column)}
    has_star = any(_is_of_outside(star) for star in root.find_all(exp.Star))
    has_subquery = root.find(exp.Query) is not None or has_queried_body(text)
    return Expression(text, tuple(sorted(columns)), has_subquery, has_star)


def plain_condition(text: str) -> Predicate | None:
    """The condition as a value, where it is a plain one (`engine.sql.query.conditions`)."""
    return parse_condition(_tree(text), "")


def _is_of_outside(star: exp.Expr) -> bool:
    """Spark looks for `t` of `t.*` outside of a query too."""
    query = star.find_ancestor(exp.Query)
    return isinstance(star.parent, exp.Column) or query is None or query.args.get("from_") is None


def requalified(text: str, replacement: Callable[[Sequence[str]], tuple[int, str] | None]) -> str:
    """`text` with other qualifiers: `replacement` tells of the parts of a column how many go, and what comes for them.

    The text that comes ends with a dot, or is empty; if no parts go, it is put in front. None: the column stays.
    """
    edits = []
    for column in _tree(text).find_all(exp.Column):
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        found = None if column.is_star else replacement([part.name for part in parts])
        if found is not None:
            count, instead = found
            edits.append((parts[0].meta["start"], parts[count].meta["start"], instead))
    pieces: list[str] = []
    done = 0
    for start, end, instead in sorted(edits):
        pieces += [copied(text, done, start - len(_HEAD)), instead]
        done = end - len(_HEAD)
    return joined((*pieces, copied(text, done, len(text))))


def equal_columns(text: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs of columns, as written and without quotes, that are equal wherever the condition is true."""
    found, left = [], [_tree(text)]
    while left:
        match left.pop().unnest():
            case exp.And(this=one, expression=other):
                left += [one, other]
            case exp.EQ(this=exp.Expr() as one, expression=exp.Expr() as other):
                sides = [_path(side.unnest()) for side in (one, other)]
                if sides[0] and sides[1]:
                    found.append((sides[0], sides[1]))
            case _:  # sqlglot's tree
                pass
    return found


def queried_columns(text: str) -> list[tuple[tuple[str, ...], Span]]:
    """Columns, as written and without quotes, that are among a query's values wherever the condition is true; with the
    place of each query in the text, in its parentheses.
    """
    found, left = [], [_tree(text)]
    while left:
        match left.pop().unnest():
            case exp.And(this=one, expression=other):
                left += [other, one]
            case exp.In(this=exp.Column() as column, args={"query": exp.Expr()}) if path := _path(column):
                span = _query_after(text, column.parts[-1].meta["end"] + 1 - len(_HEAD))
                if span is not None:
                    found.append((path, span))
            case _:  # sqlglot's tree
                pass
    return found


def _query_after(text: str, start: int) -> Span | None:
    """Of `IN (query)` at a place."""
    tokens = [token for token in tokenize(text) if token.start >= start]
    kinds = [token.token_type for token in tokens]
    if kinds[:2] != [TokenType.IN, TokenType.L_PAREN]:
        return None
    depth = 0
    for token in tokens[1:]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            return Span(tokens[1].start, token.end + 1)
    return None


def _path(node: exp.Expr) -> tuple[str, ...]:
    """Empty for what is no column."""
    if not isinstance(node, exp.Column) or node.is_star:
        return ()
    return tuple(part.name for part in node.parts)


def one_line(text: str) -> str:
    """`text` as a message or a list shows it: one blank for each comment and each white space that is more."""
    tokens = tokenize(text)
    pieces, done = [], tokens[0].start if tokens else 0
    for token in tokens:
        gap = "" if token.start == done or token.token_type is TokenType.R_PAREN else " "
        pieces += [gap, text[token.start : token.end + 1]]
        done = token.end + 1
    return "".join(pieces)


def _tree(text: str) -> exp.Expr:
    select = f"{_HEAD}{text}\n"
    try:
        tree = parse_query_tree(tokenize(select), select)
    except (SyntaxFailure, SqlglotError) as failure:
        raise _no_expression(text) from failure
    if not isinstance(tree, exp.Select) or any(tree.args[clause] for clause in tree.args if clause != "expressions"):
        raise _no_expression(text)
    if len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Alias | exp.Star):
        raise _no_expression(text)
    root: exp.Expr = tree.expressions[0]
    return root


def _no_expression(text: str) -> StatementSyntaxError:
    return syntax_error(text, "one expression is expected", 0)
