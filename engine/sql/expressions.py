"""Expressions that a table's log stores as text: constraints, generation expressions, column defaults.

Spark evaluates them; here a text is only verified to be one complete expression, so that it can be inserted at an
expression's position and brings in nothing else, and its columns are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
from engine.sql.query.source_text import join_texts, slice_text
from engine.sql.query.values import Span

_HEAD = "SELECT "


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. `columns` are the names as written, without quotes; a nested field's name has several
    parts.
    """

    text: str
    columns: tuple[tuple[str, ...], ...]
    has_subquery: bool = False
    # It refers to all columns by `*`, outside any FROM of a query in it.
    has_star: bool = False

    @property
    def in_parentheses(self) -> str:
        """Returns the text in parentheses, safe to insert into other text: a comment at its end is closed."""
        return join_texts(("(", self.text, "\n)"))


def parse_expression(text: str, subquery: SqlError | None = None) -> Expression:
    """Raises `StatementSyntaxError` if `text` is not an expression, `subquery` (or `UnsupportedClause`) for a
    subquery.
    """
    expression = parse_any_expression(text)
    if expression.has_subquery:
        raise subquery or UnsupportedClause(
            "A subquery in a constraint, a generated column or a default", "Use columns alone."
        )
    return expression


def parse_any_expression(text: str) -> Expression:
    """Parses like :func:`parse_expression`, but accepts subqueries, whose columns are included in the expression's
    columns.
    """
    return Expression(text, *_facts(text))


@lru_cache(500)
def _facts(text: str) -> tuple[tuple[tuple[str, ...], ...], bool, bool]:
    """Returns an expression's columns, `has_subquery` and `has_star`."""
    # Each write needs those of the table's constraints and generated columns; parsing one
    # takes 7 % of an INSERT of one row.
    root = _tree(text)
    columns = {tuple(part.name for part in column.parts) for column in root.find_all(exp.Column)}
    has_star = any(_is_of_outside(star) for star in root.find_all(exp.Star))
    has_subquery = root.find(exp.Query) is not None or has_queried_body(text)
    return tuple(sorted(columns)), has_subquery, has_star


def plain_condition(text: str) -> Predicate | None:
    """Returns the condition as a value if it is simple (`engine.sql.query.conditions`)."""
    return parse_condition(_tree(text), "")


def _is_of_outside(star: exp.Expr) -> bool:
    """Returns whether the star may refer outside its query: Spark resolves `t` in `t.*` there too."""
    query = star.find_ancestor(exp.Query)
    return isinstance(star.parent, exp.Column) or query is None or query.args.get("from_") is None


def requalify(text: str, replacement: Callable[[Sequence[str]], tuple[int, str] | None]) -> str:
    """Returns `text` with other qualifiers.

    `replacement` receives a column's name parts and returns how many leading parts to drop and the text that replaces
    them. The replacement text ends with a dot, or is empty; if no parts are dropped, it is put in front. None: the
    column stays.
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
        pieces += [slice_text(text, done, start - len(_HEAD)), instead]
        done = end - len(_HEAD)
    return join_texts((*pieces, slice_text(text, done, len(text))))


def equal_columns(text: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Returns pairs of columns, as written and without quotes, that are equal if the condition is true."""
    found, left = [], [_tree(text)]
    while left:
        match left.pop().unnest():
            case exp.And(this=one, expression=other):
                left += [one, other]
            case exp.EQ(this=exp.Expr() as one, expression=exp.Expr() as other):
                sides = [_path(side.unnest()) for side in (one, other)]
                if sides[0] and sides[1]:
                    found.append((sides[0], sides[1]))
            case _:  # a sqlglot tree
                pass
    return found


def queried_columns(text: str) -> list[tuple[tuple[str, ...], Span]]:
    """Returns columns, as written and without quotes, that are among a query's values if the condition is true; with
    the span of each query in the text, including its parentheses.
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
            case _:  # a sqlglot tree
                pass
    return found


def _query_after(text: str, start: int) -> Span | None:
    """Returns the query's span in an `IN (query)` at `start`."""
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
    """Returns the column's path, empty if `node` is not a column."""
    if not isinstance(node, exp.Column) or node.is_star:
        return ()
    return tuple(part.name for part in node.parts)


def to_one_line(text: str) -> str:
    """Returns `text` for a message or a list: comments and repeated white space become one blank."""
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
