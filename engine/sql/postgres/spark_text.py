"""The text of a translated tree for Spark, which remembers the places of the names in the user's text."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from engine.sql.query.source_text import CopiedPart, SourceText

_OPEN, _MIDDLE, _CLOSE = "\ue000", "\ue001", "\ue002"
_PLACED = re.compile(f"{_OPEN}(\\d+){_MIDDLE}([^{_CLOSE}]*){_CLOSE}")


def _placed(node: exp.Expr, text: str) -> str:
    start = node.meta.get("start")
    return text if start is None else f"{_OPEN}{start}{_MIDDLE}{text}{_CLOSE}"


class _Generator(SparkGenerator):
    def identifier_sql(self, expression: exp.Identifier) -> str:
        name = expression.name.replace("`", "``")
        return _placed(expression, f"`{name}`")

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        name = expression.this if isinstance(expression.this, str) else self.sql(expression, "this")
        return f"{_placed(expression, name)}({self.expressions(expression, flat=True)})"

    def placeholder_sql(self, expression: exp.Placeholder) -> str:
        return f":{expression.name}"

    def datatype_sql(self, expression: exp.DataType) -> str:
        kind = expression.this
        if kind == exp.DataType.Type.TIMESTAMPNTZ:
            return "TIMESTAMP_NTZ"
        return str(super().datatype_sql(expression))


class _Dialect(Spark):
    INDEX_OFFSET = 0
    Generator = _Generator


def spark_text(tree: exp.Expr, source: str) -> SourceText:
    """Returns the text; names in it are copied from `source`."""
    options: dict[str, Any] = {"comments": False, "normalize_functions": False}
    text = tree.sql(dialect=_Dialect(), **options)
    if any(mark in source for mark in (_OPEN, _MIDDLE, _CLOSE)):  # then nothing has a place
        return SourceText.of(_PLACED.sub(lambda found: found[2], text), ())
    pieces: list[str] = []
    parts: list[CopiedPart] = []
    length = done = 0
    for found in _PLACED.finditer(text):
        before = text[done : found.start()]
        pieces += [before, found[2]]
        length += len(before)
        parts.append(CopiedPart(length, length + len(found[2]), source, int(found[1])))
        length += len(found[2])
        done = found.end()
    pieces.append(text[done:])
    return SourceText.of("".join(pieces), parts)
