"""What partition values and metrics say of the rows of each data file, for conditions.

Each partition value is turned into bounds of the column that it was made from; with the bounds of the metrics the
tighter ones count. So conditions are evaluated as they are over the statistics of any format (`engine.pruning`), and
give both answers: which files may hold a matching row, and which hold no other. A bucket says whether a file may hold
rows that equal a value.

Bounds are decoded for the columns that conditions name, once for each snapshot. Bounds of texts may be cut inside of a
character; what is no UTF-8 is no bound.

Source: Iceberg table specification, "Scan Planning", "Appendix D: Single-value serialization".
"""

from __future__ import annotations

import decimal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.manifests.manifest import PARTITION_PREFIX, SPEC_ID
from engine.iceberg.manifests.metrics import metric
from engine.iceberg.spec.metadata import SnapshotInfo, TableMetadata
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.transforms import apply, bounds_of
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType
from engine.pruning.column_ranges import bounds_of_statistics
from engine.pruning.distinct_counts import DistinctCount, DistinctCounts
from engine.pruning.evaluation import KnownColumn, evaluate
from engine.pruning.predicates import Column, Compare, In, Literal, Operator, Path, Predicate
from engine.pruning.pruning import FilePruning, PartitionMask
from engine.pruning.table_columns import TableColumns
from engine.pruning.three_valued_logic import FALSE, NULL, TRUE, Mask, Truths, can_be
from engine.types.arrow_types import arrow_type
from engine.types.schema import DecimalType, PrimitiveType

_WIDTHS: Mapping[Kind, Sequence[tuple[int, str]]] = {
    Kind.BOOLEAN: [(1, "u1")],
    Kind.INT: [(4, "<i4")],
    Kind.LONG: [(8, "<i8"), (4, "<i4")],
    Kind.FLOAT: [(4, "<f4")],
    Kind.DOUBLE: [(8, "<f8"), (4, "<f4")],
    Kind.DATE: [(4, "<i4")],
    Kind.TIMESTAMP: [(8, "<i8")],
    Kind.TIMESTAMPTZ: [(8, "<i8")],
}
"""How bounds of a fixed width are stored: those of a column that was promoted keep their old one."""
_ARROW: Mapping[Kind, Any] = {
    Kind.BOOLEAN: arrow_type(PrimitiveType.BOOLEAN),
    Kind.INT: arrow_type(PrimitiveType.INTEGER),
    Kind.LONG: arrow_type(PrimitiveType.LONG),
    Kind.FLOAT: arrow_type(PrimitiveType.FLOAT),
    Kind.DOUBLE: arrow_type(PrimitiveType.DOUBLE),
    Kind.DATE: arrow_type(PrimitiveType.DATE),
    Kind.TIMESTAMP: arrow_type(PrimitiveType.TIMESTAMP_NTZ),
    Kind.TIMESTAMPTZ: arrow_type(PrimitiveType.TIMESTAMP),
    Kind.STRING: arrow_type(PrimitiveType.STRING),
    Kind.BINARY: arrow_type(PrimitiveType.BINARY),
    Kind.FIXED: arrow_type(PrimitiveType.BINARY),
}
_EXACT = decimal.Context(prec=100)
_YES: Mask = np.asarray(True)


def arrow_of(type_: SimpleType) -> Any | None:
    """The type of a column's bounds; None where they are not used."""
    if type_.kind is Kind.DECIMAL:
        return arrow_type(DecimalType(type_.precision, type_.scale))
    return _ARROW.get(type_.kind)


def decode_bounds(values: pa.Array, type_: SimpleType) -> pa.Array:
    """Serialized values; null for those that are none of the type."""
    kind = arrow_of(type_)
    assert kind is not None
    if type_.kind in (Kind.BINARY, Kind.FIXED):
        return values.cast(kind)
    if type_.kind is Kind.STRING:
        try:
            found = values.cast(kind)
            found.validate(full=True)
        except pa.ArrowInvalid:
            found = pa.array([_text(each) for each in values.to_pylist()], kind)
        return found
    if type_.kind is Kind.DECIMAL:
        return array_of(
            [None if each is None else int.from_bytes(each, "big", signed=True) for each in values.to_pylist()], type_
        )
    return _fixed_width(values, type_, kind)


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _fixed_width(values: pa.Array, type_: SimpleType, kind: Any) -> pa.Array:
    lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy(zero_copy_only=False)
    target = np.float64 if type_.kind in (Kind.FLOAT, Kind.DOUBLE) else np.int64
    numbers = np.zeros(len(values), target)
    known = np.zeros(len(values), bool)
    for width, form in _WIDTHS[type_.kind]:
        rows = np.flatnonzero(lengths == width)
        if len(rows):
            data = values.take(pa.array(rows)).to_pylist()
            numbers[rows] = np.frombuffer(b"".join(data), form)
            known[rows] = True
    return _typed(numbers, ~known, kind)


def _typed(numbers: npt.NDArray[Any], missing: Mask, kind: Any) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array(numbers != 0, mask=missing)
    if pa.types.is_date32(kind):
        return pa.array(numbers.astype(np.int32), mask=missing).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(numbers, pa.int64(), mask=missing).view(kind)
    return pa.array(numbers, mask=missing).cast(kind)


def array_of(values: Sequence[Any], type_: SimpleType) -> pa.Array:
    """Values as transforms have them; null for those that do not fit the type."""
    kind = arrow_of(type_)
    if type_.kind is Kind.DECIMAL:
        limit = 10**type_.precision
        return pa.array([_decimal(each, type_.scale, limit) for each in values], kind)
    if type_.kind is Kind.STRING:
        return pa.array([None if each is None else _text(each) for each in values], kind)
    if type_.kind in (Kind.BINARY, Kind.FIXED):
        return pa.array(values, kind)
    missing = np.array([each is None for each in values], bool)
    limits = np.iinfo(np.int32 if type_.kind in (Kind.INT, Kind.DATE) else np.int64)
    if type_.kind in (Kind.FLOAT, Kind.DOUBLE):
        return _typed(np.array([0.0 if each is None else each for each in values], np.float64), missing, kind)
    clipped = [0 if each is None else min(max(int(each), int(limits.min)), int(limits.max)) for each in values]
    return _typed(np.array(clipped, np.int64), missing, kind)


def _decimal(unscaled: int | None, scale: int, limit: int) -> decimal.Decimal | None:
    if unscaled is None or not -limit < unscaled < limit:
        return None
    return decimal.Decimal(unscaled).scaleb(-scale, _EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Partitioned:
    """One partition field in the files of its spec: `rows` are theirs, `codes` say which of `values` each has."""

    field: PartitionField
    rows: npt.NDArray[np.int64]
    values: list[Any]
    codes: npt.NDArray[np.int64]


@dataclass(frozen=True)
class FileKnowledge:
    """What is known of the columns of a snapshot's data files; kept with the snapshot. Threads share it."""

    data: pa.Table
    schema: IcebergSchema
    specs: Mapping[int, PartitionSpec]
    _known: dict[tuple[int, bool], KnownColumn | None] = field(default_factory=dict)
    _partitioned: dict[int, list[_Partitioned]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def column(self, column: IcebergField, *, partitions_only: bool = False) -> KnownColumn | None:
        """None where nothing is known."""
        key = (column.id, partitions_only)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._look(column, partitions_only)
            return self._known[key]

    def _look(self, column: IcebergField, partitions_only: bool) -> KnownColumn | None:
        if not isinstance(column.type, SimpleType):
            return None
        has_value, has_null, lows, highs = _YES, _YES, [], []
        kind = arrow_of(column.type)
        if not partitions_only:
            nulls = pc.fill_null(metric(self.data, "null_value_counts", column.id), -1).to_numpy(zero_copy_only=False)
            has_value, has_null = nulls != self.data["record_count"].to_numpy(), nulls != 0
            if kind is not None:
                lows.append(decode_bounds(metric(self.data, "lower_bounds", column.id), column.type))
                highs.append(decode_bounds(metric(self.data, "upper_bounds", column.id), column.type))
        for each in self._of_partitions(column.id):
            null = np.array([value is None for value in each.values], bool)[each.codes]
            has_value, has_null = (
                np.broadcast_to(has_value, len(self)).copy(),
                np.broadcast_to(has_null, len(self)).copy(),
            )
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
            bounds = bounds_of_statistics(low, high, bounds_type(column.type))
        return KnownColumn(bounds=bounds, has_value=has_value, has_null=has_null)

    def _bounds(self, each: _Partitioned, type_: SimpleType) -> tuple[pa.Array, pa.Array]:
        pairs = [(None, None) if value is None else _bounds_of(each.field, type_, value) for value in each.values]
        places = np.full(len(self), -1)
        places[each.rows] = each.codes
        taken = pa.array(places, mask=places < 0)
        return tuple(array_of([pair[side] for pair in pairs], type_).take(taken) for side in (0, 1))

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
        values = [*(chunks[0].dictionary.to_pylist() if chunks else []), None]
        indices = [chunk.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False) for chunk in chunks]
        codes = np.concatenate(indices).astype(np.int64) if indices else np.empty(0, np.int64)
        return _Partitioned(field=each, rows=rows, values=values, codes=codes)

    def buckets(self, column: IcebergField, literals: Sequence[Literal]) -> Mask | None:
        """Where a file may hold a row with one of these values, by its buckets; None where there are none."""
        found = [each for each in self._of_partitions(column.id) if each.field.transform.kind is TransformKind.BUCKET]
        if not found or not isinstance(column.type, SimpleType):
            return None
        values = [serialized(literal, column.type) for literal in literals]
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
        return None, None  # no value of the column's type
    return bounds_of(field.transform, type_, value)


def tightest(choose: Any, arrays: Sequence[pa.Array]) -> pa.Array:
    if len(arrays) == 1:
        return arrays[0]
    kind = arrays[0].type
    if pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return pc.coalesce(*arrays)  # any bound is right, the first is that of the metrics
    if pa.types.is_timestamp(kind):  # Arrow does not compare those that have a zone
        return choose(*(each.cast(pa.timestamp(kind.unit)) for each in arrays), skip_nulls=True).cast(kind)
    return choose(*arrays, skip_nulls=True)


def bounds_type(type_: SimpleType) -> Any:
    if type_.kind is Kind.DECIMAL:
        return DecimalType(type_.precision, type_.scale)
    return _PRUNED[type_.kind]


_PRUNED: Mapping[Kind, PrimitiveType] = {
    Kind.BOOLEAN: PrimitiveType.BOOLEAN,
    Kind.INT: PrimitiveType.INTEGER,
    Kind.LONG: PrimitiveType.LONG,
    Kind.FLOAT: PrimitiveType.FLOAT,
    Kind.DOUBLE: PrimitiveType.DOUBLE,
    Kind.DATE: PrimitiveType.DATE,
    Kind.TIMESTAMP: PrimitiveType.TIMESTAMP_NTZ,
    Kind.TIMESTAMPTZ: PrimitiveType.TIMESTAMP,
    Kind.STRING: PrimitiveType.STRING,
    Kind.BINARY: PrimitiveType.BINARY,
    Kind.FIXED: PrimitiveType.BINARY,
}


def serialized(literal: Literal, type_: SimpleType) -> int | bytes | None:
    """A literal of the column's own type as transforms take it; None for others."""
    value = literal.value
    match type_.kind:
        case Kind.INT | Kind.LONG:
            return value if isinstance(value, int) and not isinstance(value, bool) else None
        case Kind.STRING:
            return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
        case Kind.BINARY | Kind.FIXED:
            return value if isinstance(value, bytes) else None
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return value if literal.type is _PRUNED[type_.kind] and isinstance(value, int) else None
        case Kind.DECIMAL:
            if not isinstance(value, decimal.Decimal | int) or isinstance(value, bool):
                return None
            scaled = decimal.Decimal(value).scaleb(type_.scale, _EXACT)
            return int(scaled) if scaled == scaled.to_integral_value(context=_EXACT) else None
        case _:
            return None


class IcebergPruning(FilePruning):
    """The data files of a snapshot, ready to be asked about."""

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
    """What a condition may be of the rows of each of `count` things that `knowledge` is of."""
    return np.broadcast_to(evaluate(predicate, _Source(knowledge, partitions_only)), (count,)).copy()


class Knowledge(Protocol):
    """What is known of the columns of several files each, or of one."""

    @property
    def schema(self) -> IcebergSchema: ...

    def column(self, column: IcebergField, *, partitions_only: bool = False) -> KnownColumn | None: ...

    def buckets(self, column: IcebergField, literals: Sequence[Literal]) -> Mask | None: ...


@dataclass(frozen=True, slots=True)
class _Source:
    """The columns of an evaluation, by logical path."""

    knowledge: Knowledge
    partitions_only: bool
    with_buckets: bool = True

    def column(self, path: Path) -> KnownColumn | None:
        found = self._field(path)
        return None if found is None else self.knowledge.column(found, partitions_only=self.partitions_only)

    def shortcut(self, predicate: Predicate) -> Truths | None:
        """Equality with values: not true where no bucket of the file has one of them."""
        literals, path = _equalities(predicate)
        found = self._field(path) if self.with_buckets and path is not None else None
        mask = None if found is None else self.knowledge.buckets(found, literals)
        if mask is None:
            return None
        plain = evaluate(predicate, _Source(self.knowledge, self.partitions_only, with_buckets=False))
        return np.asarray(np.where(mask, plain, plain & ~TRUE), np.uint8)

    def _field(self, path: Path) -> IcebergField | None:
        """By name as Spark resolves names, down structs."""
        level: Any = self.knowledge.schema.struct
        found: IcebergField | None = None
        for name in path:
            if not isinstance(level, StructOfType):
                return None
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
        case _:
            return (), None


def distinct_counts(metadata: TableMetadata, info: SnapshotInfo | None, schema: IcebergSchema) -> DistinctCounts:
    """Of the newest snapshot, up to the one that is read, whose columns somebody has counted."""
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
    """The extremes and the numbers of nulls of the columns of these names in each file, as structs."""
    asked = [
        column
        for column in schema.fields
        if column.name in names and isinstance(column.type, SimpleType) and arrow_of(column.type) is not None
    ]
    return {
        "min_values": _bounds(data, asked, "lower_bounds"),
        "max_values": _bounds(data, asked, "upper_bounds"),
        "null_count": _struct(
            {column.name: metric(data, "null_value_counts", column.id) for column in asked}, data.num_rows
        ),
    }


def _bounds(data: pa.Table, columns: Any, name: str) -> pa.Array:
    return _struct(
        {column.name: decode_bounds(metric(data, name, column.id), column.type) for column in columns}, data.num_rows
    )


def _struct(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
    if not columns:
        return pa.array([{}] * count, pa.struct([]))
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))
