"""Statistics for a newly written file from its Parquet footer, without reading the data again.

A footer has minimum, maximum and null count for each column chunk. They become the file's statistics only if they
describe the column itself. Bounds require that every row group with values has them. There is no upper bound for NaN,
which Spark's writer treats as the greatest number. Arrays and maps have no statistics, because their footers count
elements; the writer must supply their null counts.

Protocol: "Per-file Statistics".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.parquet as pq

from engine.delta.definition.clustering import measured_columns
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.spec.stats import BoundValue, FileStats, lower_bound, upper_bound
from engine.storage.storage import Storage
from engine.tables.transaction import DataFile
from engine.types.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructType

Path: TypeAlias = tuple[str, ...]

_NO_BOUNDS = frozenset({PrimitiveType.BINARY, PrimitiveType.BOOLEAN, PrimitiveType.VARIANT, PrimitiveType.VOID})
_FLOATS = frozenset({PrimitiveType.FLOAT, PrimitiveType.DOUBLE})
# The field that every variant has unless it is an SQL null.
_OF_VARIANT = ("metadata",)
# The writer whose bounds are NaN if a value is NaN. Other writers ignore NaN, which is greater than their upper bound.
_TELLS_NAN = "parquet-mr"
_NO_COUNTS: Mapping[Path, int] = MappingProxyType({})
_SPARK_VERSION = b"org.apache.spark.version"
_SPARK_MIN = 3
_OLD_CALENDAR = frozenset({b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"})
# Errors for a bound that Python cannot represent, such as a date after the year 9999.
_UNREADABLE = (pa.ArrowException, UnicodeDecodeError, OverflowError, ValueError)


@dataclass(frozen=True, slots=True)
class _Leaf:
    # Physical names.
    path: Path
    has_bounds: bool
    is_in_footer: bool = True
    is_float: bool = False
    # The column's inner part that is null exactly when the column is null.
    below: Path = ()


class FooterStats:
    """Reads statistics for a table's files from their footers."""

    def __init__(self, storage: Storage, config: DeltaConfig) -> None:
        self._storage = storage
        self._leaves = tuple(_leaves(physical_schema(measured_columns(config), config.column_mapping_mode)))

    def load(self, path: str) -> FileStats:
        """Reads statistics for the file at `path`, decoded and relative to the table root."""
        with self._storage.open_input(path) as source:
            return self._stats(pq.read_metadata(source), _NO_COUNTS)

    def load_foreign(self, path: str) -> FileStats:
        """Reads statistics like `load`, for a file from any writer.

        Bounds are only read if the writer's bounds are known to be correct. This is the case for Spark 3 or newer,
        unless it wrote dates and times in the Julian calendar.
        """
        with self._storage.open_input(path) as source:
            footer = pq.read_metadata(source)
        stats = self._stats(footer, _NO_COUNTS)
        keys = footer.metadata or {}
        version = keys.get(_SPARK_VERSION, b"").partition(b".")[0]
        # Older Spark, and Spark 3 in legacy mode, wrote dates before 1582 in the hybrid
        # calendar; the footer's bounds then denote other days than readers see. Other
        # writers order strings or decimals differently, which a footer may not tell.
        if version.isdigit() and int(version) >= _SPARK_MIN and not keys.keys() & _OLD_CALENDAR:
            return stats
        return FileStats(num_records=stats.num_records, null_count=stats.null_count)

    def load_with_min_max(self, file: DataFile, columns: Sequence[str]) -> tuple[FileStats, dict[str, tuple[Any, Any]]]:
        """Reads the footer of a file that we wrote, unless it is known.

        Also returns minimum and maximum for top-level `columns` (physical names) with values. They are exact for
        integers, and independent of the columns with table statistics.
        """
        footer = file.footer
        if footer is None:
            with self._storage.open_input(file.path) as source:
                footer = pq.read_metadata(source)
        return self._stats(footer, file.null_counts, is_own=True), dict(_min_max_values(footer, columns))

    def of_footer(self, footer: Any, positions: Mapping[str, int] | None = None) -> FileStats:
        """Returns statistics from a loaded footer, without arrays and maps.

        `positions` maps dotted physical paths to the footer's columns, if the file uses other names.
        """
        return self._stats(footer, _NO_COUNTS, positions)

    def _stats(
        self,
        footer: Any,
        null_counts: Mapping[Path, int],
        positions: Mapping[str, int] | None = None,
        *,
        is_own: bool = False,
    ) -> FileStats:
        """Returns statistics; `is_own`: the file is ours, from Spark's writer or from literals, never NaN."""
        positions = _positions(footer) if positions is None else positions
        tells_nan = is_own or (footer.created_by or "").startswith(_TELLS_NAN)
        low: dict[str, Any] = {}
        high: dict[str, Any] = {}
        nulls: dict[str, Any] = {}
        for leaf in self._leaves:
            if not leaf.is_in_footer:
                _put(nulls, leaf.path, null_counts.get(leaf.path))
                continue
            position = positions.get(".".join((*leaf.path, *leaf.below)))
            if position is None:
                continue
            groups = [footer.row_group(group).column(position) for group in range(footer.num_row_groups)]
            count = _null_count(groups)
            if count is not None:
                _put(nulls, leaf.path, count)
            bounds = _bounds(groups) if leaf.has_bounds else None
            if bounds is not None:
                _put(low, leaf.path, lower_bound(min(bounds[0])))
                # Parquet's statistics ignore NaN in most writers. For Spark NaN is the
                # greatest value, so that an upper bound without it would skip files for `x
                # > 1`.
                hides_nan = leaf.is_float and not tells_nan
                is_unknown = hides_nan or any(map(_is_nan, bounds[1]))
                _put(high, leaf.path, None if is_unknown else upper_bound(max(bounds[1])))
        return FileStats(num_records=footer.num_rows, min_values=low, max_values=high, null_count=nulls)


def _leaves(struct: StructType, path: tuple[str, ...] = ()) -> Iterator[_Leaf]:
    for field in struct.fields:
        match field.data_type:
            case StructType() as inner:
                yield from _leaves(inner, (*path, field.name))
            case ArrayType() | MapType():
                yield _Leaf((*path, field.name), has_bounds=False, is_in_footer=False)
            case PrimitiveType.VARIANT:
                yield _Leaf((*path, field.name), has_bounds=False, below=_OF_VARIANT)
            case PrimitiveType() | DecimalType() as leaf:
                yield _Leaf((*path, field.name), leaf not in _NO_BOUNDS, is_float=leaf in _FLOATS)
            case _:
                assert_never(field.data_type)


def _min_max_values(footer: Any, columns: Sequence[str]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    positions = _positions(footer)
    for column in columns:
        bounds = _bounds([footer.row_group(group).column(positions[column]) for group in range(footer.num_row_groups)])
        if bounds is not None:
            yield column, (min(bounds[0]), max(bounds[1]))


def _positions(footer: Any) -> dict[str, int]:
    """Maps dotted paths to columns. Names may contain dots; a path that two columns share is omitted."""
    paths = [footer.schema.column(position).path for position in range(footer.num_columns)]
    counts = Counter(paths)
    # A field `b` in a struct `a`, and a column named `a.b`, have one dotted path in the
    # footer. Neither may get the other's bounds.
    return {path: position for position, path in enumerate(paths) if counts[path] == 1}


def _null_count(groups: list[Any]) -> int | None:
    if any(group.statistics is None or not group.statistics.has_null_count for group in groups):
        return None
    return sum(int(group.statistics.null_count) for group in groups)


def _bounds(groups: list[Any]) -> tuple[list[BoundValue], list[BoundValue]] | None:
    """Returns minimums and maximums from all row groups with values; None if one lacks them or there are no values."""
    low: list[BoundValue] = []
    high: list[BoundValue] = []
    for group in groups:
        statistics = group.statistics
        if statistics is None:
            return None
        # A chunk with only nulls has no bounds, and needs none. Other chunks without bounds
        # make the whole file unknown.
        if not statistics.has_min_max:
            if statistics.null_count == group.num_values:
                continue
            return None
        try:
            low.append(statistics.min)
            high.append(statistics.max)
        except _UNREADABLE:
            return None
        if isinstance(low[-1], bytes):  # from a string that the file annotates as another type, such as an enum
            return None
    return (low, high) if low else None


def _is_nan(value: BoundValue) -> bool:
    return value != value


def _put(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    if value is None:
        return
    for name in path[:-1]:
        values = values.setdefault(name, {})
    values[path[-1]] = value
