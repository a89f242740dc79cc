"""SHOW COLLATIONS: the names that COLLATE accepts, in Spark's columns. Spark's table function has the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import tokenize
from engine.sql.query.names import take_pattern
from engine.sql.query.query import parse_query
from engine.sql.query.values import Query
from engine.statements.select.spec import reading_query
from engine.statements.spec import StatementSpec

_COLUMNS = "NAME, LANGUAGE, COUNTRY, ACCENT_SENSITIVITY, CASE_SENSITIVITY, PAD_ATTRIBUTE, ICU_VERSION"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCollations(Statement):
    """`SHOW COLLATIONS [[LIKE] 'pattern']`"""

    query: Query


def _parse(cursor: Cursor) -> ShowCollations:
    pattern = take_pattern(cursor)
    text = f"SELECT {_COLUMNS} FROM collations()"
    if pattern is not None:  # a branch with other characters matches no name
        branches = [each for each in map(str.strip, pattern.split("|")) if re.fullmatch(r"[A-Za-z0-9_*]+", each)]
        text += f" WHERE NAME RLIKE '(?i)^({'|'.join(branches).replace('*', '.*')})$'"
    return ShowCollations(query=parse_query(Cursor(text, tokenize(text))))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], ShowCollations]] = MappingProxyType(
    {("SHOW", "COLLATIONS"): _parse}
)


SPECS: tuple[StatementSpec[ShowCollations], ...] = (
    reading_query(
        ShowCollations,
        "SHOW COLLATIONS",
        syntax="SHOW COLLATIONS [[LIKE] 'pattern']",
        example="SHOW COLLATIONS LIKE 'unicode*'",
        query=lambda statement: statement.query,
        plan=lambda analyzed, _, __: analyzed.query,
    ),
)
