"""GetSqlInfo: what the server supports, by the numbers of FlightSql.proto's enum `SqlInfo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

import pyarrow as pa

from gateway.release import VERSION

_VALUES = pa.dense_union(
    [
        pa.field("string_value", pa.string(), nullable=False),
        pa.field("bool_value", pa.bool_(), nullable=False),
        pa.field("bigint_value", pa.int64(), nullable=False),
        pa.field("int32_bitmask", pa.int32(), nullable=False),
        pa.field("string_list", pa.list_(pa.string()), nullable=False),
        pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32())), nullable=False),
    ]
)
SQL_INFO_SCHEMA = pa.schema(
    [pa.field("info_name", pa.uint32(), nullable=False), pa.field("value", _VALUES, nullable=False)]
)
NAME = "delta-gateway"
_NAME_LENGTH_MAX = 255


class _Bits(int):
    """An int32 value: an enum or a bit mask, as opposed to a bigint."""


_Value = str | bool | int | _Bits | tuple[str, ...]

_FOUND: Mapping[int, _Value] = {
    0: NAME,
    1: VERSION,
    2: pa.__version__,
    3: False,  # read only
    4: True,  # SQL
    5: False,  # Substrait
    8: _Bits(0),  # no transactions
    9: True,  # cancel
    10: True,  # bulk ingestion
    11: False,  # … in transactions
    100: 0,  # no statement timeout
    101: 0,
    500: False,  # CREATE CATALOG
    501: True,
    502: True,
    503: _Bits(1),  # identifiers are case-insensitive
    504: "`",
    505: _Bits(1),
    506: False,  # not all tables can be selected
    507: _Bits(1),  # nulls first
    508: tuple("ANTI CLUSTER DISTRIBUTE LATERAL MINUS OPTIMIZE OVERWRITE PIVOT RLIKE SEMI TABLESAMPLE VACUUM".split()),
    509: tuple("abs acos asin atan atan2 ceil cos degrees exp floor ln log10 mod pi power rand round sqrt tan".split()),
    510: tuple("ascii char concat length lower lpad ltrim replace rpad rtrim substring trim upper".split()),
    511: tuple("current_catalog current_schema current_user ifnull".split()),
    512: tuple("current_date current_timestamp day hour minute month quarter second week year".split()),
    513: "\\",
    514: "",
    515: True,  # column aliases
    516: True,  # NULL + non-NULL is NULL
    518: True,
    519: False,
    520: True,  # expressions in ORDER BY
    521: True,
    522: _Bits(0b11),  # GROUP BY
    523: True,  # LIKE … ESCAPE
    524: True,  # NOT NULL columns
    525: _Bits(0b11),  # core SQL grammar
    526: _Bits(0b1),  # entry level
    527: False,
    528: _Bits(0b11),  # outer joins
    529: "schema",
    530: "procedure",
    531: "catalog",
    532: True,  # the catalog comes first in a name
    533: _Bits(0b111),
    534: _Bits(0b111),
    536: False,
    537: True,
    538: _Bits(0b1111),  # subqueries
    539: True,
    540: _Bits(0b11),  # UNION
    543: _NAME_LENGTH_MAX,
    552: _NAME_LENGTH_MAX,
    554: _NAME_LENGTH_MAX,
    559: _NAME_LENGTH_MAX,
    562: 3,  # serializable
    563: False,
    565: True,
    566: False,
    572: True,  # batch updates
    573: False,
    574: True,  # named parameters
    576: False,
}


def sql_info(wanted: Sequence[int]) -> pa.Table:
    """Returns the values of some numbers, or of all; an unknown number has no row."""
    numbers = [number for number in dict.fromkeys(wanted) if number in _FOUND] or ([] if wanted else list(_FOUND))
    children: list[list[object]] = [[] for _ in range(6)]
    kinds, offsets = [], []
    for number in numbers:
        kind, value = _member(_FOUND[number])
        kinds.append(kind)
        offsets.append(len(children[kind]))
        children[kind].append(value)
    arrays = [pa.array(values, field.type) for values, field in zip(children, _VALUES, strict=True)]
    names = [field.name for field in _VALUES]
    union = pa.UnionArray.from_dense(pa.array(kinds, pa.int8()), pa.array(offsets, pa.int32()), arrays, names)
    # The members of the array above may be null, by their declaration alone.
    values = pa.UnionArray.from_buffers(_VALUES, len(union), union.buffers()[:3], children=arrays)
    return pa.Table.from_arrays([pa.array(numbers, pa.uint32()), values], schema=SQL_INFO_SCHEMA)


def _member(value: _Value) -> tuple[int, object]:
    match value:
        case str():
            return 0, value
        case bool():
            return 1, value
        case _Bits():
            return 3, int(value)
        case int():
            return 2, value
        case tuple():
            return 4, list(value)
        case _:
            assert_never(value)
