"""Simple conditions as predicates: columns of one table compared with literals, combined by AND, OR and NOT.

Spark decides the meaning of any condition. Only conditions that the log alone may answer are parsed here, so they must
be simple: for an unrecognized condition the table is read. Literals have the types that they are written with; a caller
that has the column types decides whether they can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from types import MappingProxyType

from sqlglot import exp

from engine.pruning.predicates import (
    And,
    Column,
    Compare,
    In,
    IsNull,
    Literal,
    Not,
    Operator,
    Predicate,
    all_of,
    any_of,
)
from engine.types.schema import PrimitiveType

_OPERATORS: Mapping[type[exp.Expr], Operator] = MappingProxyType(
    {
        exp.EQ: Operator.EQUAL,
        exp.NullSafeEQ: Operator.NULL_SAFE_EQUAL,
        exp.NEQ: Operator.NOT_EQUAL,
        exp.LT: Operator.LESS,
        exp.LTE: Operator.LESS_OR_EQUAL,
        exp.GT: Operator.GREATER,
        exp.GTE: Operator.GREATER_OR_EQUAL,
    }
)
_LONG_DIGITS = 18
_TIMESTAMPS = frozenset([exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPNTZ])
_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)


def parse_condition(node: exp.Expr, called: str) -> Predicate | None:
    """Returns the condition over the columns of the table with the alias `called`; None if it is not simple."""
    node = node.unnest()
    match node:
        case exp.And() | exp.Or():
            left, right = parse_condition(node.left, called), parse_condition(node.right, called)
            if left is None or right is None:
                return None
            return all_of(left, right) if isinstance(node, exp.And) else any_of(left, right)
        case exp.Not():
            inner = parse_condition(node.this, called)
            return None if inner is None else Not(inner)
        case exp.Is(expression=exp.Null()):
            column = _column(node.this, called)
            return None if column is None else IsNull(column)
        case exp.Between():
            return _between(node, called)
        case exp.In():
            return _in(node, called)
        case _:  # a sqlglot tree
            return _compare(node, called)


def _compare(node: exp.Expr, called: str) -> Predicate | None:
    operator = _OPERATORS.get(type(node))
    if operator is None:
        return None
    column = _column(node.this, called)
    literal = _literal(node.expression)
    return None if column is None or literal is None else Compare(operator, column, literal)


def _between(node: exp.Between, called: str) -> Predicate | None:
    column = _column(node.this, called)
    low = _literal(node.args["low"])
    high = _literal(node.args["high"])
    if column is None or low is None or high is None or node.args.get("symmetric"):
        return None
    return And((Compare(Operator.GREATER_OR_EQUAL, column, low), Compare(Operator.LESS_OR_EQUAL, column, high)))


def _in(node: exp.In, called: str) -> Predicate | None:
    column = _column(node.this, called)
    literals = [_literal(item) for item in node.expressions]
    found = tuple(literal for literal in literals if literal is not None)
    if column is None or not found or len(found) < len(literals) or node.args.get("query"):
        return None
    return In(column, found)


def _column(node: exp.Expr, called: str) -> Column | None:
    """Returns a top-level column; None for a struct field."""
    node = node.unnest()
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return None
    names = [part.name for part in node.parts]
    if len(names) == 2 and names[0].lower() == called.lower():
        names = names[1:]
    return Column((names[0],)) if len(names) == 1 else None


def _literal(node: exp.Expr) -> Literal | None:
    """Returns a text, a whole number, a date, or a timestamp as the written local time."""
    node = node.unnest()
    match node:
        case exp.Literal(this=str(text), is_string=True):
            return Literal(text, PrimitiveType.STRING)
        case exp.Literal(this=str(text)) if text.isdecimal() and len(text) <= _LONG_DIGITS:
            return Literal(int(text), PrimitiveType.LONG)
        case exp.Neg():
            positive = _literal(node.this)
            if positive is None or not isinstance(positive.value, int) or positive.type is not PrimitiveType.LONG:
                return None
            return Literal(-positive.value, PrimitiveType.LONG)
        case exp.Cast(this=exp.Literal(this=str(text), is_string=True)) if node.to.is_type(exp.DataType.Type.DATE):
            return parse_date(text)
        case exp.Cast(this=exp.Literal(this=str(text), is_string=True)) if node.to.this in _TIMESTAMPS:
            return parse_local_time(text)
        case _:  # a sqlglot tree
            return None


def parse_date(text: str) -> Literal | None:
    """Parses `yyyy-mm-dd`, the form that has one meaning in all of Spark's date parsers."""
    try:
        return Literal.of(date.fromisoformat(text)) if len(text) == len("yyyy-mm-dd") else None
    except ValueError:
        return None


def parse_local_time(text: str) -> Literal | None:
    """Parses `yyyy-mm-dd[ hh:mm[:ss[.ffffff]]]`, a timestamp without a time zone; returns None for any other form."""
    if not _LOCAL_TIME.fullmatch(text):
        return None
    head, point, fraction = text.partition(".")
    try:
        return Literal.of(datetime.fromisoformat(f"{head}{point}{fraction.ljust(6, '0') if point else ''}"))
    except ValueError:
        return None
