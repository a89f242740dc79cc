"""Manifest pruning: skips manifests whose files cannot contain matching rows, by the manifest list's summaries.

For each partition field the list has the minimum and maximum value over a manifest's files, and whether some are null.
These become bounds for the source column, like a single file's (`engine.iceberg.snapshot.pruning`), so that conditions
are evaluated in the same way. Skipped manifests are never read. Delete manifests are never skipped: they may delete
rows in files from other manifests.

Source: Iceberg table specification, "Manifest Lists", "Scan Planning".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import assert_never

import numpy as np
import pyarrow.compute as pc

from engine.iceberg.definition.shown_bounds import bounds_of_partitions, bounds_type
from engine.iceberg.manifests.manifest_list import FieldSummary, Manifest
from engine.iceberg.snapshot.live_files import LiveFiles
from engine.iceberg.snapshot.pruning import serialize_literal, tightest, truths_of
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.transforms import Value, apply, bounds_of
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType
from engine.pruning.column_ranges import bounds_of_statistics
from engine.pruning.evaluation import KnownColumn
from engine.pruning.predicates import Literal, Predicate
from engine.pruning.three_valued_logic import TRUE, Mask, can_be

_DIGITS_MAX = 18
_SAYS_NOTHING = frozenset([TransformKind.VOID, TransformKind.UNKNOWN])
_AS_SOURCE = frozenset([TransformKind.IDENTITY, TransformKind.TRUNCATE])
_FLOATS: Mapping[int, str] = {4: "<f", 8: "<d"}
# Sizes in bytes; others have 8. A column that was an `int` may now be a `long`.
_INTEGER_BYTES: Mapping[Kind, tuple[int, ...]] = {Kind.INT: (4,), Kind.DATE: (4,), Kind.LONG: (4, 8)}


def narrowed_manifests(
    manifests: Sequence[Manifest],
    condition: Predicate,
    schema: IcebergSchema,
    specs: Mapping[int, PartitionSpec],
) -> tuple[Manifest, ...] | None:
    """Returns the manifests that a query needs (`TableSnapshot.narrow`); None if too few can be skipped."""
    data = [each for each in manifests if not each.has_deletes]
    deletes = [each for each in manifests if each.has_deletes]
    mask = can_be(truths_of(condition, _Summaries(data, schema, specs), len(data), partitions_only=True), TRUE)
    remaining = [each for each, is_persistent in zip(data, mask.tolist(), strict=True) if is_persistent]
    files, of_all = _num_files(remaining), _num_files(data)
    if len(remaining) == len(data) or files is None or of_all is None or 2 * files > of_all:
        return None  # all are decoded once, and cached for the next query
    return (*remaining, *deletes)


def digest_of(manifests: Sequence[Manifest]) -> str:
    """Returns a short text that identifies the manifests."""
    return sha256("\n".join(each.path for each in manifests).encode()).hexdigest()


def left_out(listed: Sequence[Manifest], summary: Mapping[str, str], found: LiveFiles) -> tuple[int, int]:
    """Returns the number and the approximate bytes that the snapshot's other data files have, by its list and
    summary.
    """
    text = summary.get("total-files-size", "")
    total = int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else 0
    known = sum(pc.sum(table["file_size_in_bytes"]).as_py() or 0 for table in (found.data, found.deletes))
    return max(0, (_num_files(listed) or 0) - found.data.num_rows), max(0, total - known)


def _num_files(manifests: Sequence[Manifest]) -> int | None:
    """Returns the number of live data files; None if the list does not have it."""
    counts = [_sum(each.added[0], each.existing[0]) for each in manifests if not each.has_deletes]
    return None if None in counts else sum(count for count in counts if count is not None)


def _sum(*counts: int | None) -> int | None:
    """Returns the sum; None if a count is unknown or negative."""
    known = [count for count in counts if count is not None and count >= 0]
    return sum(known) if len(known) == len(counts) else None


@dataclass(frozen=True, slots=True)
class _Summaries:
    """Column statistics over all files in each manifest."""

    manifests: Sequence[Manifest]
    schema: IcebergSchema
    specs: Mapping[int, PartitionSpec]

    def column(self, column: IcebergField, *, partitions_only: bool = False) -> KnownColumn | None:
        type_ = column.type
        if not isinstance(type_, SimpleType):
            return None
        count = len(self.manifests)
        has_null = np.ones(count, bool)
        bounds = None
        found = [list(self._fields(each, column.id)) for each in self.manifests]
        for at, fields in enumerate(found):
            # Several partition fields may have the column as source (after partition
            # evolution); null is possible only if each of them permits it.
            has_null[at] = all(
                field.transform.kind in _SAYS_NOTHING or summary.contains_null is not False for field, summary in fields
            )
        kind = bounds_type(type_)
        most = max(map(len, found), default=0)
        if kind is not None and most:
            pairs = [
                [
                    _bounds(*fields[round_number], type_) if round_number < len(fields) else (None, None)
                    for fields in found
                ]
                for round_number in range(most)
            ]
            arrays = [
                bounds_of_partitions(
                    [low for low, _ in round_number], [high for _, high in round_number], type_, are_values=False
                )
                for round_number in pairs
            ]
            low = tightest(pc.max_element_wise, [each for each, _ in arrays])
            high = tightest(pc.min_element_wise, [each for _, each in arrays])
            bounds = bounds_of_statistics(low, high, kind)
        return KnownColumn(bounds=bounds, has_value=np.asarray(True), has_null=has_null)

    def buckets(self, column: IcebergField, literals: Sequence[Literal]) -> Mask | None:
        """Returns a mask for manifests that may have one value's bucket; None if the column has no buckets."""
        type_ = column.type
        if not isinstance(type_, SimpleType):
            return None
        values = [serialize_literal(literal, type_) for literal in literals]
        mask = np.ones(len(self.manifests), bool)
        is_any = False
        for at, manifest in enumerate(self.manifests):
            for field, summary in self._fields(manifest, column.id):
                if field.transform.kind is TransformKind.BUCKET:
                    is_any = True
                    mask[at] &= _may_have_bucket(field, summary, type_, values)
        return mask if is_any else None

    def _fields(self, manifest: Manifest, source_id: int) -> Iterator[tuple[PartitionField, FieldSummary]]:
        """Yields the partition fields on a column; nothing if the list does not have one summary per field."""
        spec = self.specs.get(manifest.spec_id)
        # Some writers omit the summaries; then the manifest is read.
        if spec is None or len(spec.fields) != len(manifest.partitions):
            return
        for field, summary in zip(spec.fields, manifest.partitions, strict=True):
            if field.source_id == source_id:
                yield field, summary


def _bounds(field: PartitionField, summary: FieldSummary, type_: SimpleType) -> tuple[Value | None, Value | None]:
    low, high = _value(field, summary.lower, type_), _value(field, summary.upper, type_)
    minimum = None if low is None else bounds_of(field.transform, type_, low)[0]
    if high is None:
        return minimum, None
    first, last = bounds_of(field.transform, type_, high)
    may_include_minimum = (
        isinstance(high, int) and first is None
    )  # the last partition may also contain the minimum values
    return None if may_include_minimum else minimum, last


def _value(field: PartitionField, data: bytes | None, type_: SimpleType) -> Value | None:
    """Returns a partition value; None if invalid or meaningless. Promoted columns may have narrower encodings."""
    if data is None or field.transform.kind in _SAYS_NOTHING:
        return None
    kind = type_.kind if field.transform.kind in _AS_SOURCE else Kind.INT
    match kind:
        case Kind.STRING | Kind.BINARY | Kind.FIXED | Kind.UUID:
            return data
        case Kind.DECIMAL:
            return int.from_bytes(data, "big", signed=True)
        case Kind.FLOAT | Kind.DOUBLE:
            # A `float` column may have become `double`; old manifests still have four bytes
            # ("Appendix D: Single-value serialization").
            form = _FLOATS.get(len(data))
            return None if form is None else float(struct.unpack(form, data)[0])
        case Kind.BOOLEAN:
            return data != b"\0" if len(data) == 1 else None
        case Kind.INT | Kind.LONG | Kind.DATE | Kind.TIME | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.TIMESTAMP_NS:
            return _integer(data, kind)
        case Kind.TIMESTAMPTZ_NS | Kind.UNKNOWN | Kind.VARIANT | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return _integer(data, kind)
        case _:
            assert_never(kind)


def _integer(data: bytes, kind: Kind) -> int | None:
    is_number = len(data) in _INTEGER_BYTES.get(kind, (8,))
    return int.from_bytes(data, "little", signed=True) if is_number else None


def _may_have_bucket(
    field: PartitionField, summary: FieldSummary, type_: SimpleType, values: Sequence[int | bytes | None]
) -> bool:
    low, high = _value(field, summary.lower, type_), _value(field, summary.upper, type_)
    if not isinstance(low, int) or not isinstance(high, int):
        return True
    for value in values:
        bucket = None if value is None else apply(field.transform, type_, value)
        if not isinstance(bucket, int) or low <= bucket <= high:
            return True
    return False
