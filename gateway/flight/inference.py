"""Types of a prepared statement's parameters, without running it.

JDBC's driver encodes values for the announced types, and refuses `setInt` for a text. The types come from the columns
of the table (INSERT … VALUES, `column = ?`), from LIMIT in the text, and from Spark's analysis: an analyzed plan shows
the type to which a text at the parameter's place is cast. A parameter for which nothing is found is text. Values of any
other type are accepted, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from catalog.errors import SqlError
from catalog.names import quote
from engine.pipeline import parse_statement
from engine.runtime.parameters import Parameter
from engine.sql.parameters import markers_by_number
from engine.sql.postgres_text import MARKER_PREFIX, limit_markers, parse_insert
from engine.sql.query.values import Query
from engine.statements.row_changes.statement import Delete, Update
from gateway.flight.metadata import column_type
from gateway.sessions.session import Session
from gateway.sessions.waiting import ended_rows

Describe = Callable[[Query], pa.Schema]
_PROBE = "gateway_parameter_"
_CAST_OF_PROBE = re.compile(rf"cast\({_PROBE}([0-9]+)_ as ([a-z_]+(?:\([0-9, ]+\))?)\)")
_FAILED_CAST = re.compile(
    rf"'{_PROBE}([0-9]+)_' of the type \"STRING\" cannot be cast to \"([A-Z_]+(?:\([0-9, ]+\))?)\""
)
_SELECT = re.compile(r"(?i)\bselect\b")
_COMPARED = re.compile(rf"([\w`.]+)\s*(?:=|<>|!=|<=|>=|<|>)\s*:{MARKER_PREFIX}([0-9]+)\b")


@dataclass(slots=True)
class Inference:
    """Finds the types of the markers of one text; the markers with names come first."""

    session: Session
    text: str
    names: tuple[str, ...]
    markers: int
    describe: Describe
    is_active: Callable[[], bool]
    _found: dict[int, pa.DataType] = field(default_factory=dict)

    def types(self) -> list[pa.DataType]:
        """Returns a type for each marker."""
        adapted = markers_by_number(self.text, MARKER_PREFIX)
        for number in limit_markers(adapted):
            self._found[number] = pa.int32()
        parsed = parse_statement(self.text)
        if (insert := parse_insert(adapted)) is not None:
            if insert.items:
                columns = self._columns(insert.query)
                for index, kind in enumerate(columns.types[: len(insert.items)]):
                    if (marker := insert.marker(index)) is not None:
                        self._found.setdefault(marker, kind)
        else:
            match parsed:
                case Update() | Delete():
                    self._compare(adapted, parsed.table_parts)
                case Query(relations=[relation]) if len(_SELECT.findall(adapted)) == 1:
                    # Spark would compare an INT and a text as BIGINT. In a subquery, a name may
                    # be another column.
                    self._compare(adapted, relation.name_parts)
                case _:  # other statements: only Spark's analysis has types
                    pass
            self._probe()
        return [self._found.get(number, pa.string()) for number in self._numbers()]

    def _numbers(self) -> range:
        return range(1, len(self.names) + self.markers + 1)

    def _columns(self, query: str) -> pa.Schema:
        """Returns the columns of a generated query; none if the principal may not read them."""
        parsed = parse_statement(query)
        assert isinstance(parsed, Query)
        try:
            return self.describe(parsed)
        except SqlError:
            return pa.schema([])

    def _compare(self, adapted: str, table: Sequence[str]) -> None:
        """Notes the types of columns to which parameters are assigned, or with which they are compared."""
        columns = self._columns(f"SELECT * FROM {'.'.join(map(quote, table))}")
        kinds = {field.name.lower(): field.type for field in columns}
        for name, number in _COMPARED.findall(adapted):
            kind = kinds.get(name.rpartition(".")[2].strip("`").lower())
            if kind is not None:
                self._found.setdefault(int(number), kind)

    def _probe(self) -> None:
        """Analyzes the text with a distinct string for each unknown parameter. An error about the cast of one of them
        has its type, too.
        """
        for _ in self._numbers():
            if len(self._found) == len(self._numbers()):
                return
            try:
                plans = ended_rows(self.session, self.session.explain(self.text, self._probes()), self.is_active)
            except SqlError as error:
                failed = _FAILED_CAST.search(error.message)
                if failed is None:  # its own error follows when it is run
                    return
                self._note(failed[1], failed[2])
                continue
            for number, kind in _CAST_OF_PROBE.findall("\n".join(plans.column(0).to_pylist()).lower()):
                self._note(number, kind)
            return

    def _note(self, number: str, kind: str) -> None:
        self._found.setdefault(int(number), column_type(kind.lower()))

    def _probes(self) -> tuple[Parameter, ...]:
        return tuple(self._each_probe())

    def _each_probe(self) -> Iterator[Parameter]:
        for number in self._numbers():
            name = self.names[number - 1] if number <= len(self.names) else None
            kind = self._found.get(number)
            if kind is None:
                yield Parameter(value=f"{_PROBE}{number}_", name=name)
            elif kind == pa.int32():  # LIMIT must not be null
                yield Parameter(value="1", sql_type="int", name=name)
            else:
                yield Parameter(value=None, sql_type="void", name=name)


def limits(text: str) -> frozenset[int]:
    """Returns the numbers of the markers after LIMIT and OFFSET, whose values must be INT for Spark."""
    return frozenset(limit_markers(markers_by_number(text, MARKER_PREFIX)))
