"""Rows that are not in files, such as `information_schema`, generated when a query is about to run.

A row describes one object, such as a table, and some of its columns are known for all objects before any is opened. So
a query is first planned over these columns, and then rows are generated only for the objects that its conditions
select.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import Any

import pyarrow as pa

from engine.spool.spooled_rows import SpooledRows

# Names and types, in DDL spelling.
Columns = Sequence[tuple[str, str]]
Row = Sequence[object]

_BATCH_ROWS = 4096
_ARROW_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("ms", "UTC"),
    "array<string>": pa.list_(pa.string()),
    "map<string, string>": pa.map_(pa.string(), pa.string()),
    "map<string, double>": pa.map_(pa.string(), pa.float64()),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenRows:
    """Generated rows with their columns; timestamps are in ms since the epoch, maps are dictionaries.

    `keys` are string columns whose values are known for all objects; `objects` returns them, a tuple per object. `make`
    returns the rows for the objects at these positions, or for all (None). Without keys all rows are generated.
    `costly` columns, which require opening objects, are NULL in the rows from `make`; `complete` fills in the ones that
    a query uses.
    """

    columns: Columns
    make: Callable[[Sequence[int] | None], Iterable[Row]]
    keys: tuple[str, ...] = ()
    objects: Callable[[], Sequence[tuple[str, ...]]] = tuple
    costly: tuple[str, ...] = ()
    complete: Callable[[Iterable[Row], Collection[str]], Iterable[Row]] | None = None
    # Columns that contain paths of files.
    paths: tuple[str, ...] = ()
    # A digest of all rows without costly columns; None: the rows differ each time.
    #
    # The result cache uses it for queries without costly columns.
    stamp: Callable[[], bytes] | None = None
    # Rows of a client in files, which Spark reads itself, without keys; `make` is not called.
    spooled: SpooledRows | None = None

    def batches(self, row_numbers: Sequence[int] | None, used: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yields the rows for the objects at these positions, in batches of a few thousand. `used` are costly
        columns.
        """
        names = [name for name, _ in self.columns]
        types = [_ARROW_TYPES[kind] for _, kind in self.columns]
        made = self.make(row_numbers)
        rows = iter(self.complete(made, used) if used and self.complete is not None else made)
        while block := list(islice(rows, _BATCH_ROWS)):
            arrays = [_array(values, kind) for values, kind in zip(zip(*block, strict=True), types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names)


def client_rows(rows: SpooledRows) -> GivenRows:
    """Returns the rows that a client sends to a statement."""
    return GivenRows(columns=rows.columns, make=lambda _: (), spooled=rows)


def fixed_rows(columns: Columns, make: Callable[[], Iterable[Row]], paths: tuple[str, ...] = ()) -> GivenRows:
    """Returns rows without keys, which `make` returns once, so that results over them may be cached."""
    made = cache(lambda: tuple(make()))
    return GivenRows(columns=columns, make=lambda _: made(), paths=paths, stamp=lambda: _digest(made()))


def _digest(rows: tuple[Row, ...]) -> bytes:
    return blake2b(repr(rows).encode("utf-8", "surrogatepass"), digest_size=24).digest()


def _array(values: Sequence[Any], kind: Any) -> pa.Array:
    if pa.types.is_map(kind):
        values = [None if value is None else list(value.items()) for value in values]
    array = pa.array(values, kind)
    return array.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(kind) else array
