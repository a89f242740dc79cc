"""Data skipping by partition values and metrics: column statistics for each data file.

Each partition value is converted into bounds for its source column; the tighter of these and the metrics' bounds count.
So conditions are evaluated over statistics as in any format (`engine.pruning`), with two results: files that may
contain a matching row, and files whose rows all match. A bucket shows whether a file may contain rows that equal a
value.

Bounds are decoded for the columns in conditions, once per snapshot. Text bounds may be truncated inside a character;
invalid UTF-8 is not used as a bound.

Source: Iceberg table specification, "Scan Planning", "Appendix D: Single-value serialization".
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.definition.shown_bounds import bounds_of_files, bounds_of_partitions, bounds_type
from engine.iceberg.manifests.manifest import PARTITION_PREFIX, SPEC_ID
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.spec.metadata import SnapshotInfo, TableMetadata
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.transforms import apply, bounds_of
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType
from engine.pruning.column_ranges import bounds_of_statistics
from engine.pruning.estimates import DistinctCount, DistinctCounts
from engine.pruning.evaluation import KnownColumn, evaluate
from engine.pruning.predicates import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
    Path,
    Predicate,
    StartsWith,
    Unknown,
)
from engine.pruning.pruning import FilePruning, PartitionMask
from engine.pruning.table_columns import TableColumns
from engine.pruning.three_valued_logic import FALSE, NULL, TRUE, Mask, Truths, can_be

_EXACT = decimal.Context(prec=100)
_LONG_END = 1 << 63
# The exposed form: no other text can be equal.
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_YES: Mask = np.asarray(True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Partitioned:
    """A partition field in its spec's files: `rows` are the files', `codes` index `values`."""

    field: PartitionField
    rows: npt.NDArray[np.int64]
    values: list[Any]
    codes: npt.NDArray[np.int64]


@dataclass(frozen=True)
class FileKnowledge:
    """Column statistics for a snapshot's data files; cached with the snapshot, and thread-safe."""

    data: pa.Table
    schema: IcebergSchema
    specs: Mapping[int, PartitionSpec]
    _known: dict[tuple[int, bool], KnownColumn | None] = field(default_factory=dict)
    _partitioned: dict[int, list[_Partitioned]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def column(self, column: IcebergField, *, partitions_only: bool = False) -> KnownColumn | None:
        """Returns a column's statistics; None if unknown."""
        key = (column.id, partitions_only)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._look(column, partitions_only)
            return self._known[key]

    def _look(self, column: IcebergField, partitions_only: bool) -> KnownColumn | None:
        if not isinstance(column.type, SimpleType):
            return None
        has_value, has_null, lows, highs = _YES, _YES, [], []
        kind = bounds_type(column.type)
        if not partitions_only:
            # -1 stands for unknown: then both a value and a null are possible.
            nulls = pc.fill_null(metric(self.data, "null_value_counts", column.id), -1).to_numpy(zero_copy_only=False)
            has_value, has_null = nulls != self.data["record_count"].to_numpy(), nulls != 0
            if kind is not None:
                low, high = bounds_of_files(self.data, column.id, column.type)
                lows.append(low)
                highs.append(high)
        for each in self._of_partitions(column.id):
            null = np.array([value is None for value in each.values], bool)[each.codes]
            has_value, has_null = (
                np.broadcast_to(has_value, len(self)).copy(),
                np.broadcast_to(has_null, len(self)).copy(),
            )
            # A void transform gives null for each value, so it says nothing about the
            # source column.
            if each.field.transform.kind not in (TransformKind.VOID, TransformKind.UNKNOWN):
                has_value[each.rows[null]] = False
                has_null[each.rows[~null]] = False
            if kind is not None:
                low, high = self._bounds(each, column.type)
                lows.append(low)
                highs.append(high)
        bounds = None
        if lows and kind is not None:
            low, high = tightest(pc.max_element_wise, lows), tightest(pc.min_element_wise, highs)
            bounds = bounds_of_statistics(low, high, kind)
        return KnownColumn(bounds=bounds, has_value=has_value, has_null=has_null)

    def _bounds(self, each: _Partitioned, type_: SimpleType) -> tuple[pa.Array, pa.Array]:
        pairs = [(None, None) if value is None else _bounds_of(each.field, type_, value) for value in each.values]
        places = np.full(len(self), -1)
        places[each.rows] = each.codes
        taken = pa.array(places, mask=places < 0)
        lows, highs = ([pair[side] for pair in pairs] for side in (0, 1))
        low, high = bounds_of_partitions(lows, highs, type_, are_values=True)
        return low.take(taken), high.take(taken)

    def _of_partitions(self, source_id: int) -> list[_Partitioned]:
        if source_id not in self._partitioned:
            self._partitioned[source_id] = [
                self._partition(spec.spec_id, each)
                for spec in self.specs.values()
                for each in spec.fields
                if each.source_id == source_id and f"{PARTITION_PREFIX}{each.field_id}" in self.data.column_names
            ]
        return self._partitioned[source_id]

    def _partition(self, spec_id: int, each: PartitionField) -> _Partitioned:
        rows = np.flatnonzero(self.data[SPEC_ID].to_numpy() == spec_id)
        column = self.data[f"{PARTITION_PREFIX}{each.field_id}"].take(pa.array(rows))
        if pa.types.is_null(column.type):
            return _Partitioned(field=each, rows=rows, values=[None], codes=np.zeros(len(rows), np.int64))
        encoded = column.dictionary_encode().unify_dictionaries()
        chunks = encoded.chunks
        # Null is appended as the last value, which the null indices refer to.
        values = [*(chunks[0].dictionary.to_pylist() if chunks else []), None]
        indices = [chunk.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False) for chunk in chunks]
        codes = np.concatenate(indices).astype(np.int64) if indices else np.empty(0, np.int64)
        return _Partitioned(field=each, rows=rows, values=values, codes=codes)

    def buckets(self, column: IcebergField, literals: Sequence[Literal]) -> Mask | None:
        """Returns a mask for files that may contain a row with one value, by buckets; None if the column has no
        buckets.
        """
        found = [each for each in self._of_partitions(column.id) if each.field.transform.kind is TransformKind.BUCKET]
        if not found or not isinstance(column.type, SimpleType):
            return None
        values = [serialize_literal(literal, column.type) for literal in literals]
        if any(value is None for value in values):
            return None
        mask = np.ones(len(self), bool)
        for each in found:
            buckets = {apply(each.field.transform, column.type, value) for value in values if value is not None}
            if None in buckets:
                return None
            mask[each.rows] = np.array([value in buckets for value in each.values], bool)[each.codes]
        return mask


def _bounds_of(field: PartitionField, type_: SimpleType, value: Any) -> tuple[Any, Any]:
    if type_.kind is Kind.DECIMAL and isinstance(value, bytes):
        value = int.from_bytes(value, "big", signed=True)
    if isinstance(value, bytes) is not (type_.kind in (Kind.STRING, Kind.BINARY, Kind.FIXED, Kind.UUID)):
        return None, None  # not a valid value in the column's type
    return bounds_of(field.transform, type_, value)


def tightest(choose: Any, arrays: Sequence[pa.Array]) -> pa.Array:
    """Returns the tightest bound for each file from several valid ones.

    `choose` is Arrow's `max_element_wise` for minimum values, `min_element_wise` for maximum values.
    """
    if len(arrays) == 1:
        return arrays[0]
    kind = arrays[0].type
    if pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return pc.coalesce(*arrays)  # any bound is valid, metrics come first
    if pa.types.is_timestamp(kind):  # Arrow does not compare timestamps with a zone
        return choose(*(each.cast(pa.timestamp(kind.unit)) for each in arrays), skip_nulls=True).cast(kind)
    return choose(*arrays, skip_nulls=True)


def serialize_literal(literal: Literal, type_: SimpleType) -> int | bytes | None:
    """Returns a literal with the column's own type in the transforms' form; None for others."""
    value = literal.value
    match type_.kind:
        case Kind.INT | Kind.LONG:
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case Kind.STRING:
            return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
        case Kind.BINARY | Kind.FIXED:
            return value if isinstance(value, bytes) else None
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return value if literal.type is bounds_type(type_) and isinstance(value, int) else None
        case Kind.TIMESTAMP_NS | Kind.TIMESTAMPTZ_NS:
            return _nanos(value) if literal.type is bounds_type(type_) and isinstance(value, int) else None
        case Kind.UUID:
            return bytes.fromhex(value.replace("-", "")) if isinstance(value, str) and _UUID.fullmatch(value) else None
        case Kind.DECIMAL:
            if not isinstance(value, decimal.Decimal | int) or isinstance(value, bool):
                return None
            scaled = decimal.Decimal(value).scaleb(type_.scale, _EXACT)
            return int(scaled) if scaled == scaled.to_integral_value(context=_EXACT) else None
        case Kind.BOOLEAN | Kind.FLOAT | Kind.DOUBLE | Kind.TIME | Kind.UNKNOWN | Kind.VARIANT:
            return None
        case Kind.GEOMETRY | Kind.GEOGRAPHY:
            return None
        case _:
            assert_never(type_.kind)


def _nanos(micros: int) -> int | None:
    nanos = micros * 1000
    return nanos if -_LONG_END <= nanos < _LONG_END else None


class IcebergPruning(FilePruning):
    """File pruning for a snapshot's data files."""

    def __init__(self, columns: TableColumns, knowledge: FileKnowledge) -> None:
        super().__init__(columns, len(knowledge))
        self._knowledge = knowledge

    def prune(self, predicate: Predicate) -> Mask:
        return can_be(self._all(predicate), TRUE)

    def matches_all(self, predicate: Predicate) -> Mask:
        return ~can_be(self._all(predicate), FALSE | NULL)

    def partition_mask(self, predicate: Predicate) -> PartitionMask:
        truths = self._all(predicate, partitions_only=True)
        return PartitionMask(can_be(truths, TRUE), False)

    def _all(self, predicate: Predicate, *, partitions_only: bool = False) -> Truths:
        return truths_of(predicate, self._knowledge, len(self), partitions_only=partitions_only)


def truths_of(predicate: Predicate, knowledge: Knowledge, count: int, *, partitions_only: bool) -> Truths:
    """Evaluates a condition for each of the `count` files or manifests that `knowledge` describes."""
    return np.broadcast_to(evaluate(predicate, _Source(knowledge, partitions_only)), (count,)).copy()


class Knowledge(Protocol):
    """Column statistics for several files, or for a single one."""

    @property
    def schema(self) -> IcebergSchema:
        """Returns the schema whose field ids the statistics have."""
        ...

    def column(self, column: IcebergField, *, partitions_only: bool = False) -> KnownColumn | None:
        """Returns a column's statistics, from metrics too unless `partitions_only`; None without statistics."""
        ...

    def buckets(self, column: IcebergField, literals: Sequence[Literal]) -> Mask | None:
        """Returns the files that may contain one of the values, by their `bucket` partition values.

        None if no spec has a bucket of the column.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Source:
    """The columns for an evaluation, by logical path."""

    knowledge: Knowledge
    partitions_only: bool
    with_buckets: bool = True

    def column(self, path: Path) -> KnownColumn | None:
        found = self._field(path)
        return None if found is None else self.knowledge.column(found, partitions_only=self.partitions_only)

    def shortcut(self, predicate: Predicate) -> Truths | None:
        """Evaluates equality: false in files that have no value's bucket."""
        literals, path = _equalities(predicate)
        found = self._field(path) if self.with_buckets and path is not None else None
        mask = None if found is None else self.knowledge.buckets(found, literals)
        if mask is None:
            return None
        plain = evaluate(predicate, _Source(self.knowledge, self.partitions_only, with_buckets=False))
        return np.asarray(np.where(mask, plain, plain & ~TRUE), np.uint8)

    def _field(self, path: Path) -> IcebergField | None:
        """Finds a field by name as Spark resolves names, through structs."""
        level: Any = self.knowledge.schema.struct
        found: IcebergField | None = None
        for name in path:
            if not isinstance(level, StructOfType):
                return None
            # Spark is case-insensitive by default, but Iceberg allows columns that differ
            # in case only; the exact name wins.
            exact = (each for each in level.fields if each.name == name)
            folded = (each for each in level.fields if each.name.casefold() == name.casefold())
            found = next(exact, None) or next(folded, None)
            if found is None:
                return None
            level = found.type
        return found


def _equalities(predicate: Predicate) -> tuple[Sequence[Literal], Path | None]:
    match predicate:
        case Compare(operand=Column(path=path), operator=Operator.EQUAL, literal=literal) if literal.value is not None:
            return (literal,), path
        case In(operand=Column(path=path), literals=literals):
            return tuple(each for each in literals if each.value is not None), path
        case Compare() | In() | StartsWith() | IsNull() | IsNotNull() | And() | Or() | Not() | Constant() | Unknown():
            return (), None
        case _:
            assert_never(predicate)


def distinct_counts(metadata: TableMetadata, info: SnapshotInfo | None, schema: IcebergSchema) -> DistinctCounts:
    """Returns distinct counts from the newest snapshot with statistics, up to the one that is read."""
    for _ in metadata.snapshots:
        if info is None:
            break
        rows, counted = info.summary.get("total-records", ""), metadata.distinct_values.get(info.snapshot_id)
        if counted and rows.isdecimal():
            found = ((column.name, counted[column.id]) for column in schema.fields if column.id in counted)
            return DistinctCounts({name: DistinctCount(distinct, int(rows)) for name, distinct in found})
        info = None if info.parent_id is None else metadata.snapshots.get(info.parent_id)
    return DistinctCounts()


def measured_columns(data: pa.Table, schema: IcebergSchema, names: Collection[str]) -> dict[str, pa.Array]:
    """Returns the columns' minimum and maximum values and null counts in each file, as structs."""
    requested = [
        column
        for column in schema.fields
        if column.name in names and isinstance(column.type, SimpleType) and bounds_type(column.type) is not None
    ]
    bounds = [
        bounds_of_files(data, column.id, column.type) for column in requested if isinstance(column.type, SimpleType)
    ]
    nulls = [metric(data, "null_value_counts", column.id) for column in requested]
    found = {"min_values": [low for low, _ in bounds], "max_values": [high for _, high in bounds], "null_count": nulls}
    columns = [column.name for column in requested]
    return {name: _struct(dict(zip(columns, each, strict=True)), data.num_rows) for name, each in found.items()}


def _struct(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
    if not columns:
        return pa.array([{}] * count, pa.struct([]))
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))
