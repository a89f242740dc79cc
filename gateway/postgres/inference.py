"""Columns of queries, and types of parameters, without running a statement.

PostgreSQL gives a type to each parameter; drivers such as asyncpg encode their values for it. Here the types come from
the columns of the table (INSERT … VALUES), from casts and LIMIT in the text, and from Spark's analysis: an analyzed
plan shows the type to which a text at the parameter's place is cast. A parameter for which nothing is found is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from catalog.errors import SqlError
from engine.runtime.parameters import Parameter
from engine.runtime.request import SqlDialect
from engine.sql.postgres_text import MARKER_PREFIX, InsertText, limit_markers
from gateway.postgres.parameters import parameter
from gateway.postgres.statements import SentStatement
from gateway.postgres.types import INT8, TEXT, Column, pg_type, spark_type, typed_columns

Describe = Callable[[str, Sequence[Parameter], SqlDialect], list[tuple[str, str]]]
Explain = Callable[[str, Sequence[Parameter], SqlDialect], str]
_CACHED_MAX = 200
_PROBE = "gateway_parameter_"
_CAST_OF_PROBE = re.compile(rf"cast\({_PROBE}([0-9]+)_ as ([a-z_]+(?:\([0-9, ]+\))?)\)")
_FAILED_CAST = re.compile(
    rf"'{_PROBE}([0-9]+)_' of the type \"STRING\" cannot be cast to \"([A-Z_]+(?:\([0-9, ]+\))?)\""
)
_TYPE = r"array<[a-z_]+>|[a-z_]+(?:\([0-9, ]+\))?"
_CASTS = re.compile(
    rf":{MARKER_PREFIX}([0-9]+)\s*::\s*({_TYPE})|\bCAST\s*\(\s*:{MARKER_PREFIX}([0-9]+)\s+AS\s+({_TYPE})",
    re.IGNORECASE,
)
_LITERAL = re.compile(
    r"\s*(?:(?P<null>NULL)|(?P<word>TRUE|FALSE)|(?P<text>'(?:[^'\\]|'')*')|(?P<number>[+-]?[0-9.]+(?:e[+-]?[0-9]+)?))"
    r"\s*(?:,|\Z)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Inference:
    """Finds columns and types by calls of a session. Not thread-safe."""

    describe: Describe
    explain: Explain
    _known: dict[tuple[str, tuple[int, ...]], list[int]] = field(default_factory=dict)

    def forget(self) -> None:
        """Forgets the types that were found: a table may have others now."""
        self._known.clear()

    def columns(self, statement: SentStatement, oids: Sequence[int]) -> list[Column]:
        """Returns the columns of a query. Raises the error of its analysis."""
        limits = limit_markers(statement.spark_text)
        nulls = self.nulls(oids)
        nulls = [_one(number) if number in limits else null for number, null in enumerate(nulls, 1)]
        found = self.describe(statement.text, nulls, statement.dialect)
        return list(typed_columns(found, statement.result_types))

    def columns_of(self, query: str) -> list[Column]:
        """Returns the columns of a query in Spark's SQL. Raises the error of its analysis."""
        return [Column(name, pg_type(kind), kind) for name, kind in self.describe(query, (), SqlDialect.SPARK)]

    def written_types(self, insert: InsertText, *, is_required: bool = False) -> list[str]:
        """Returns the SQL types of the written columns; none if the principal may not read them and they are not
        required.
        """
        try:
            return [kind for _, kind in self.describe(insert.query, (), SqlDialect.SPARK)]
        except SqlError:
            if is_required:
                raise
            return []

    def nulls(self, oids: Sequence[int]) -> list[Parameter]:
        """Returns nulls of these types."""
        return [parameter(None, 0, oid, number) for number, oid in enumerate(oids, 1)]

    def oids(self, statement: SentStatement, given: Sequence[int]) -> list[int]:
        """Returns the types of all parameters; 0 in `given` is one that the client has not named."""
        key = statement.text, tuple(given)
        if key not in self._known:
            if len(self._known) >= _CACHED_MAX:
                self._known.clear()
            self._known[key] = self._found(statement, given)
        return self._known[key]

    def _found(self, statement: SentStatement, given: Sequence[int]) -> list[int]:
        found = dict(enumerate(given, 1))
        text = statement.spark_text
        for number in limit_markers(text):
            _note(found, number, INT8.oid)
        for number, kind in _casts(text):
            _note(found, number, pg_type(kind).oid)
        if statement.insert is not None and statement.insert.items:
            types = self.written_types(statement.insert)
            for index, kind in enumerate(types[: len(statement.insert.items)]):
                if (marker := statement.insert.marker(index)) is not None:
                    _note(found, marker, pg_type(kind).oid)
        elif 0 in found.values() and statement.kind is not None:
            self._probe(statement, found)
        return [found[number] or TEXT.oid for number in sorted(found)]

    def _probe(self, statement: SentStatement, found: dict[int, int]) -> None:
        """Analyzes the text with a distinct string for each unknown parameter. An error about the cast of one of them
        has its type too.
        """
        for _ in range(len(found)):
            try:
                plans = self.explain(statement.text, _probes(statement.spark_text, found), statement.dialect)
            except SqlError as error:
                failed = _FAILED_CAST.search(error.message)
                if failed is None:  # its own error follows when it is described or run
                    return
                _note(found, int(failed[1]), pg_type(failed[2].lower()).oid)
                continue
            for number, kind in _CAST_OF_PROBE.findall(plans.lower()):
                _note(found, int(number), pg_type(kind).oid)
            return


def _casts(text: str) -> Iterator[tuple[int, str]]:
    for first, kind, second, other in _CASTS.findall(text):
        yield int(first or second), kind or other


def array_casts(text: str) -> Mapping[int, int]:
    """Returns the types of the parameters that the text casts to arrays: Spark casts no text to an array."""
    found = {number: pg_type(kind) for number, kind in _casts(text) if kind.lower().startswith("array<")}
    return {number: kind.oid for number, kind in found.items() if kind.element is not None}


def literal_values(arguments: str) -> list[tuple[bytes | None, int]] | None:
    """Returns the arguments of EXECUTE as texts, with the types of numbers (0: unknown); None if one is not a
    literal.
    """
    found: list[tuple[bytes | None, int]] = []
    at = 0
    while at < len(arguments):
        literal = _LITERAL.match(arguments, at)
        if literal is None:
            return None
        found.append(_literal_value(literal))
        at = literal.end()
    return found


def _literal_value(literal: re.Match[str]) -> tuple[bytes | None, int]:
    if literal["null"]:
        return None, 0
    text, number = literal["text"], literal["number"]
    value = text[1:-1].replace("''", "'") if text else literal["word"] or number
    if not number:
        return value.encode(), 0
    return value.encode(), INT8.oid if number.lstrip("+-").isdigit() else pg_type("decimal").oid


def _probes(text: str, found: dict[int, int]) -> list[Parameter]:
    limits = limit_markers(text)
    return [
        _one(number)
        if number in limits
        else Parameter(
            value=None if oid else f"{_PROBE}{number}_", sql_type=spark_type(oid), name=f"{MARKER_PREFIX}{number}"
        )
        for number, oid in found.items()
    ]


def _one(number: int) -> Parameter:
    """Returns a value for LIMIT, which must not be null."""
    return Parameter(value="1", sql_type="int", name=f"{MARKER_PREFIX}{number}")


def _note(found: dict[int, int], number: int, oid: int) -> None:
    if found.get(number) == 0:
        found[number] = oid
