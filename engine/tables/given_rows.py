"""Rows that are not in files, such as those of `information_schema`, made when a query is about to run.

A row is about one object, a table say, and some of its columns are known of all objects before any of them is opened.
So a query is first planned over these columns, and then rows are made only of the objects that its conditions leave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice
from typing import Any

import pyarrow as pa

Columns = Sequence[tuple[str, str]]
"""Names with their types, as DDL spells them."""
Row = Sequence[object]

_BATCH_ROWS = 4096
_ARROW_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("ms", "UTC"),
    "array<string>": pa.list_(pa.string()),
    "map<string, string>": pa.map_(pa.string(), pa.string()),
    "map<string, double>": pa.map_(pa.string(), pa.float64()),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenRows:
    """Rows with their columns; timestamps are in ms since the epoch, maps are dictionaries.

    `keys` are columns of type string whose values are known of all objects, and `objects` answers these, a tuple for
    each. `make` answers the rows of the objects at these positions, or of all (None). Without keys all rows are made.
    Values of `costly` columns, for which objects are opened, are NULL in the rows of `make`; `complete` puts in those
    of the columns that a query uses.
    """

    columns: Columns
    make: Callable[[Sequence[int] | None], Iterable[Row]]
    keys: tuple[str, ...] = ()
    objects: Callable[[], Sequence[tuple[str, ...]]] = tuple
    costly: tuple[str, ...] = ()
    complete: Callable[[Iterable[Row], Collection[str]], Iterable[Row]] | None = None
    stamp: Callable[[], bytes] | None = None
    """A digest of all rows without the values of costly columns; None: rows that differ each time.

    An answer is cached by it that uses none of these columns.
    """

    def batches(self, chosen: Sequence[int] | None, used: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Makes the rows of the objects at these positions, a few thousand at a time. `used` are costly columns."""
        names = [name for name, _ in self.columns]
        types = [_ARROW_TYPES[kind] for _, kind in self.columns]
        made = self.make(chosen)
        rows = iter(self.complete(made, used) if used and self.complete is not None else made)
        while block := list(islice(rows, _BATCH_ROWS)):
            arrays = [_array(values, kind) for values, kind in zip(zip(*block, strict=True), types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names)


def fixed_rows(columns: Columns, make: Callable[[], Iterable[Row]]) -> GivenRows:
    """Returns rows without keys, which `make` answers once, so that an answer over them may be cached."""
    made = cache(lambda: tuple(make()))
    return GivenRows(columns=columns, make=lambda _: made(), stamp=lambda: _digest(made()))


def _digest(rows: tuple[Row, ...]) -> bytes:
    return blake2b(repr(rows).encode("utf-8", "surrogatepass"), digest_size=24).digest()


def _array(values: Sequence[Any], kind: Any) -> pa.Array:
    if pa.types.is_map(kind):
        values = [None if value is None else list(value.items()) for value in values]
    array = pa.array(values, kind)
    return array.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(kind) else array
