"""Relations whose columns depend on rows: pivots without values, crosstab and transpose.

Their rows are read by statements that run before the plan's own, with the user's privileges, row filters and limits,
in the moment in which the client sends the plan. Statistics become queries (`statistics.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from google.protobuf.message import Message

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid, PivotTooWide, TransposeTooWide
from catalog.names import quote
from engine.runtime.results import sql_field, sql_type_of
from gateway.connect.plans import query_of
from gateway.connect.proto import pb2
from gateway.connect.rows import encode_rows
from gateway.connect.statistics import (
    STATISTICS,
    aggregate,
    cast,
    column,
    filtered,
    function,
    limited,
    named,
    ordered,
    project,
    rewritten,
)
from gateway.connect.types import parse_type_text
from gateway.sessions.session import Session
from gateway.sessions.waiting import ended, rows_of

_Found = TypeVar("_Found", pb2.Relation, pb2.Command)

# Spark's defaults of spark.sql.pivotMaxValues and spark.sql.transposeMaxValues.
_PIVOT_MAX, _TRANSPOSE_MAX = 10_000, 500
_VALUE, _KEY, _CELLS = "value", "key", "cells"
# Arrow types → the field of a literal, and the Arrow type of its numbers.
_LITERALS: Sequence[tuple[Callable[[pa.DataType], bool], str, pa.DataType | None]] = (
    (pa.types.is_boolean, "boolean", None),
    (pa.types.is_int8, "byte", None),
    (pa.types.is_int16, "short", None),
    (pa.types.is_int32, "integer", None),
    (pa.types.is_int64, "long", None),
    (pa.types.is_float32, "float", None),
    (pa.types.is_float64, "double", None),
    (pa.types.is_string, "string", None),
    (pa.types.is_binary, "binary", None),
    (pa.types.is_date32, "date", pa.int32()),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, "timestamp", pa.int64()),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, "timestamp_ntz", pa.int64()),
)


def computed(operation: _Found, session: Session, is_active: Callable[[], bool]) -> _Found:
    """Returns a relation or a command without relations of these kinds. Raises the errors of the statements."""
    if not any(_dependent(operation)):
        return operation
    replaced: _Found = type(operation)()
    replaced.CopyFrom(operation)
    computation = Computation(session, is_active)
    for relation in [*_dependent(replaced)]:
        computation.replace(relation)
    return replaced


@dataclass(frozen=True, slots=True)
class Computation:
    """Replaces relations, for a client that is there while `is_active`."""

    session: Session
    is_active: Callable[[], bool]

    def replace(self, relation: pb2.Relation) -> None:
        """Replaces a relation; its DataFrame has the same id."""
        kind = relation.WhichOneof("rel_type")
        found = pb2.Relation()
        if kind in STATISTICS:
            found.CopyFrom(rewritten(kind, getattr(relation, kind)))
        elif kind == "transpose":
            found.local_relation.CopyFrom(self._transposed(relation.transpose))
        else:
            found.CopyFrom(relation)
        for pivot in _pivots(found):
            self._set_values(pivot)
        found.common.CopyFrom(relation.common)
        relation.CopyFrom(found)

    def _set_values(self, pivoted: pb2.Aggregate) -> None:
        """Adds the values of the pivot's column, in their order. Raises `PivotTooWide`."""
        value = named(pivoted.pivot.col, _VALUE)
        distinct = limited(aggregate(pivoted.input, groups=(value,)), _PIVOT_MAX + 1)
        rows = self._rows(ordered(distinct, column(_VALUE)))
        if rows.num_rows > _PIVOT_MAX:
            raise PivotTooWide(_PIVOT_MAX)
        pivoted.pivot.values.extend(_literals(rows.column(0), sql_type_of(rows.schema.field(0))))
        if not rows.num_rows:  # only the groups are left
            pivoted.group_type = pb2.Aggregate.GROUP_TYPE_GROUPBY
            pivoted.ClearField("pivot")
            pivoted.ClearField("aggregate_expressions")

    def _transposed(self, transpose: pb2.Transpose) -> pb2.LocalRelation:
        """Returns a row for each column, and a column for each row, in the order of the index. Raises
        `TransposeTooWide`.
        """
        names = self._rows(limited(transpose.input, 0)).schema.names
        if not names:
            raise ConnectPlanInvalid("a DataFrame without columns cannot be transposed")
        index, name = _index(transpose, names[0])
        cells = [one for one in names if one != name]
        values = [column(quote(one)) for one in cells]
        rows = ordered(filtered(transpose.input, function("isnotnull", index)), index)
        rows = project(rows, named(cast(index, "string"), _KEY), named(function("array", *values), _CELLS))
        found = self._rows(limited(rows, _TRANSPOSE_MAX + 1))
        if found.num_rows > _TRANSPOSE_MAX:
            raise TransposeTooWide(_TRANSPOSE_MAX)
        return pb2.LocalRelation(data=encode_rows(_turned(found, cells)))

    def _rows(self, relation: pb2.Relation) -> pa.Table:
        query = query_of(relation)
        operation = self.session.execute(query.statement, parameters=query.parameters)
        with ended(self.session, operation, self.is_active):
            return rows_of(operation)


def _dependent(message: Message) -> Iterator[pb2.Relation]:
    """Yields the relations to replace, inner ones before outer ones."""
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        for inner in value if descriptor.is_repeated else (value,):
            yield from _dependent(inner)
    if isinstance(message, pb2.Relation):
        kind = message.WhichOneof("rel_type")
        if kind in STATISTICS or kind == "transpose" or (kind == "aggregate" and any(_pivots(message))):
            yield message


def _pivots(relation: pb2.Relation) -> Iterator[pb2.Aggregate]:
    """Yields the pivot without values that a relation is, or that a crosstab's relation contains."""
    found = relation.fill_na.input if relation.HasField("fill_na") else relation
    if found.HasField("aggregate") and found.aggregate.HasField("pivot") and not found.aggregate.pivot.values:
        yield found.aggregate


def _index(transpose: pb2.Transpose, first: str) -> tuple[pb2.Expression, str]:
    """Returns the column whose values name the new columns, with its name."""
    if not transpose.index_columns:
        return column(quote(first)), first
    index, *others = transpose.index_columns
    name = index.unresolved_attribute.unparsed_identifier
    if others or not name:
        raise ConnectPlanInvalid("the index of transpose is not one column")
    return index, name.strip("`")


def _literals(values: pa.ChunkedArray, sql_type: str) -> Iterator[pb2.Expression.Literal]:
    if pa.types.is_decimal(values.type):
        precision, scale = values.type.precision, values.type.scale
        kind = pb2.DataType(decimal=pb2.DataType.Decimal(precision=precision, scale=scale))
        for value in values.to_pylist():
            decimal = pb2.Expression.Literal.Decimal(value=str(value), precision=precision, scale=scale)
            yield pb2.Expression.Literal(null=kind) if value is None else pb2.Expression.Literal(decimal=decimal)
        return
    for matches, name, numbers in _LITERALS:
        if matches(values.type):
            found = values if numbers is None else values.cast(numbers)
            kind = parse_type_text(sql_type)
            for value in found.to_pylist():
                yield pb2.Expression.Literal(**({"null": kind} if value is None else {name: value}))
            return
    raise ConnectFeatureNotSupported(f"A pivot without values over a column of the type {sql_type}", "Name the values.")


def _turned(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Returns the columns key and cells of `rows` transposed: a row for each of `names`."""
    kind = rows.schema.field(_CELLS).type.value_type
    element = sql_type_of(rows.schema.field(_CELLS)).removeprefix("array<").removesuffix(">")
    fields, columns = [sql_field(_KEY, pa.string(), "string")], [pa.array(names, pa.string())]
    for row in rows.to_pylist():
        fields.append(sql_field(row[_KEY], kind, element))
        columns.append(pa.array(row[_CELLS], kind))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
