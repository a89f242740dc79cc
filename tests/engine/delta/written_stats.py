"""Statistics as real writers produce them: from rows to the text in `add.stats`."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from engine.pruning.predicates import Path
from engine.types.schema import DataType, DecimalType, PrimitiveType
from tests.engine.delta.row_evaluation import Row, order

_EPOCH = datetime(1970, 1, 1)
_DAY_US = 86_400_000_000


class Writer(Enum):
    """SPARK: min and max as SQL computes them, strings cut at 32. PARQUET: from footers, so without NaN, decimals
    through a double, strings cut and counted up (at 16 here, at 64 in delta-rs)."""

    SPARK = "delta-spark"
    PARQUET = "delta-rs"


def stats_text(
    rows: Sequence[Row], types: Mapping[Path, DataType], writer: Writer, *, left_out: Iterable[Path] = (), wide: bool
) -> str:
    """Returns statistics for a file with these rows; columns in `left_out` have none."""
    skipped = set(left_out)
    stats: dict[str, Any] = {"numRecords": len(rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    for path, data_type in types.items():
        if path in skipped:
            continue
        values = [row[path] for row in rows]
        present = [value for value in values if value is not None]
        _put(stats["nullCount"], path, len(values) - len(present))
        if writer is Writer.PARQUET:
            present = [value for value in present if value == value]
        if present and data_type is not PrimitiveType.BINARY:
            key = functools.cmp_to_key(order)
            _put(stats["minValues"], path, _format(min(present, key=key), data_type, writer, highest=False))
            highest = _format(max(present, key=key), data_type, writer, highest=True)
            if highest is not None:
                _put(stats["maxValues"], path, highest)
    if wide:
        stats["tightBounds"] = False
    # JSON numbers have unlimited digits, but Python's writer does not: decimals pass through as tagged texts.
    return re.sub(r'"#([-.\d]+)#"', r"\1", json.dumps(stats, ensure_ascii=False))


def _put(level: dict[str, Any], path: Path, value: Any) -> None:
    for name in path[:-1]:
        level = level.setdefault(name, {})
    level[path[-1]] = value


def _format(value: Any, data_type: DataType, writer: Writer, *, highest: bool) -> Any:
    match data_type:
        case PrimitiveType.STRING:
            return _cut_above(value, writer) if highest else value[: 32 if writer is Writer.SPARK else 16]
        case PrimitiveType.DATE:
            return (_EPOCH + timedelta(days=value)).strftime("%Y-%m-%d").rjust(10, "0")
        case PrimitiveType.TIMESTAMP:
            moment = (_EPOCH + timedelta(microseconds=value)).replace(tzinfo=UTC)
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case PrimitiveType.TIMESTAMP_NTZ:
            return (_EPOCH + timedelta(microseconds=value)).isoformat(timespec="milliseconds")
        case PrimitiveType.FLOAT | PrimitiveType.DOUBLE:
            return value if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        case DecimalType():
            return float(value) if writer is Writer.PARQUET else f"#{value:f}#"
        case _:
            return value


def _cut_above(value: str, writer: Writer) -> str | None:
    """Returns a truncated string that is not below `value`."""
    if writer is Writer.PARQUET:
        if len(value) <= 16:
            return value
        for end in range(16, 0, -1):
            if value[end - 1] < "\U0010ffff":
                return value[: end - 1] + _after(value[end - 1])
        return None
    if len(value) <= 32:
        return value
    end = 32
    while end < len(value) and value[end] == "\U0010ffff":
        end += 1
    if end == len(value):
        return value
    return value[:end] + ("\x7f" if value[end] < "\x7f" else "\U0010ffff")


def _after(character: str) -> str:
    code = ord(character) + 1
    return chr(0xE000 if 0xD800 <= code < 0xE000 else code)
