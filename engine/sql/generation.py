"""Generation expressions as values: the monotonic ones, through which conditions can be translated.

Spark computes generated columns; an unrecognized expression only means that no condition is derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp
from sqlglot.errors import SqlglotError

from engine.pruning.generation_expressions import (
    Beginning,
    DateOf,
    FormattedDate,
    GenerationExpression,
    Part,
    PartOf,
    SameAs,
    TruncatedDate,
    TruncatedTimestamp,
    TruncationUnit,
)
from engine.pruning.predicates import Path
from engine.sql.dialect.dialect import SyntaxFailure, parse_query_tree, tokenize

_PARTS: Mapping[str, Part] = MappingProxyType(
    {
        "year": Part.YEAR,
        "month": Part.MONTH,
        "day": Part.DAY,
        "dayofmonth": Part.DAY,
        "hour": Part.HOUR,
    }
)
_UNITS: Mapping[str, TruncationUnit] = MappingProxyType(
    {
        "YEAR": TruncationUnit.YEAR,
        "YYYY": TruncationUnit.YEAR,
        "YY": TruncationUnit.YEAR,
        "QUARTER": TruncationUnit.QUARTER,
        "MONTH": TruncationUnit.MONTH,
        "MON": TruncationUnit.MONTH,
        "MM": TruncationUnit.MONTH,
        "WEEK": TruncationUnit.WEEK,
        "DAY": TruncationUnit.DAY,
        "DD": TruncationUnit.DAY,
        "HOUR": TruncationUnit.HOUR,
    }
)


def parse_generation(text: str) -> GenerationExpression | None:
    """Returns the expression as a value; None if it is not known to be monotonic."""
    select = f"SELECT {text}\n"
    try:
        tree = parse_query_tree(tokenize(select), select)
    except (SyntaxFailure, SqlglotError):
        return None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    return _generation(tree.expressions[0].unnest())


def _generation(node: exp.Expression) -> GenerationExpression | None:
    match node:
        case exp.Column():
            path = _path(node)
            return None if path is None else SameAs(path)
        case exp.Cast(this=exp.Column() as column) if type(node) is exp.Cast and _is_date(node):
            path = _path(column)
            return None if path is None else DateOf(path)
        case exp.Substring():
            return _substring(node.this, node.args.get("start"), node.args.get("length"))
        case exp.Anonymous(this=str(name)):
            make = _FUNCTIONS.get(name.lower())
            return None if make is None else make(name.lower(), node.expressions)
        case _:  # a sqlglot tree
            return None


def _is_date(cast: exp.Cast) -> bool:
    return bool(cast.to.is_type(exp.DataType.Type.DATE))


def _path(node: exp.Expression | None) -> Path | None:
    """Returns the name of a column, or the path of a nested field."""
    return tuple(part.name for part in node.parts) if isinstance(node, exp.Column) else None


def _date(name: str, arguments: list[exp.Expression]) -> GenerationExpression | None:
    path = _path(arguments[0]) if len(arguments) == 1 else None
    return None if path is None else DateOf(path)


def _part(name: str, arguments: list[exp.Expression]) -> GenerationExpression | None:
    inner = arguments[0] if len(arguments) == 1 else None
    if isinstance(inner, exp.Cast):  # a cast to date does not change the part
        inner = inner.this if name != "hour" and _is_date(inner) else None
    path = _path(inner)
    return None if path is None else PartOf(_PARTS[name], path)


def _format(name: str, arguments: list[exp.Expression]) -> GenerationExpression | None:
    path, spelled = _with_text(arguments)
    return None if path is None or spelled is None else FormattedDate(path, spelled)


def _trunc(name: str, arguments: list[exp.Expression]) -> GenerationExpression | None:
    path, spelled = _with_text(arguments)
    unit = _UNITS.get((spelled or "").upper())
    return None if path is None or unit is None else TruncatedDate(path, unit)


def _date_trunc(name: str, arguments: list[exp.Expression]) -> GenerationExpression | None:
    path, spelled = _with_text(arguments[::-1])
    unit = _UNITS.get((spelled or "").upper())
    return None if path is None or unit is None else TruncatedTimestamp(path, unit)


def _left(name: str, arguments: list[exp.Expression]) -> GenerationExpression | None:
    return _substring(arguments[0], exp.Literal.number(1), arguments[1]) if len(arguments) == 2 else None


def _with_text(arguments: list[exp.Expression]) -> tuple[Path | None, str | None]:
    """Returns a column and a literal text."""
    match arguments:
        case [exp.Column() as column, exp.Literal(this=str(text), is_string=True)]:
            return _path(column), text
        case _:  # sqlglot trees
            return None, None


def _substring(
    source: exp.Expression, start: exp.Expression | None, length: exp.Expression | None
) -> GenerationExpression | None:
    path = _path(source)
    first = _whole(start)
    count = _whole(length)
    return Beginning(path, count) if path is not None and first in (0, 1) and count is not None else None


def _whole(node: exp.Expression | None) -> int | None:
    is_number = isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdecimal()
    return int(node.this) if is_number and node is not None else None


_FUNCTIONS: Mapping[str, Callable[[str, list[exp.Expression]], GenerationExpression | None]] = MappingProxyType(
    {
        "date": _date,
        "to_date": _date,
        **dict.fromkeys(_PARTS, _part),
        "date_format": _format,
        "trunc": _trunc,
        "date_trunc": _date_trunc,
        "left": _left,
    }
)
