"""Row sets: byte for byte equal to the Thrift runtime's encoding, for every type, nulls and slices."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from engine.runtime.results import sql_field
from gateway.hs2.gen.ttypes import (
    TColumn,
    TColumnValue,
    TDoubleValue,
    TFetchResultsResp,
    TI32Value,
    TRow,
    TRowSet,
    TStatus,
    TStringValue,
)
from gateway.hs2.rowset import encode_columns, encode_fetch_response, encode_rows
from gateway.hs2.types import Slot, column_type

int_values = {
    "tinyint": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "smallint": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
}
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **int_values,
    "boolean": (pa.bool_(), st.booleans()),
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "string": (pa.string(), st.text(max_size=20)),
    "varchar(20)": (pa.string(), st.text(max_size=20)),
    "char(3)": (pa.string(), st.text("ab0", min_size=3, max_size=3)),
    "binary": (pa.binary(), st.binary(max_size=20)),
    "void": (pa.null(), st.none()),
    "variant": (pa.string(), st.sampled_from(["1", '{"a":1}'])),
}


def thrift_bytes(struct: Any) -> bytes:
    buffer = TMemoryBuffer()
    struct.write(TBinaryProtocolAccelerated(buffer))
    return bytes(buffer.getvalue())


def expected(row_offset: int, columns: list[tuple[str, list[Any]]]) -> bytes:
    """Returns the same row set from Python values, encoded by the runtime."""
    made = []
    for sql_type, cells in columns:
        values = list(map(as_printed, cells)) if sql_type == "float" else cells
        slot = column_type(sql_type).slot.value
        nulls = bytearray((len(values) + 7) // 8)
        for i, value in enumerate(values):
            if value is None:
                nulls[i // 8] |= 1 << (i % 8)
        filled = [slot.zero if value is None else value for value in values]
        made.append(TColumn(**{slot.member: slot.column(filled, bytes(nulls).rstrip(b"\0"))}))
    return thrift_bytes(TRowSet(row_offset, [], made))


def as_printed(value: float | None) -> float | None:
    """Returns the double with a float's digits."""
    return None if value is None else float(str(np.float32(value)))


@given(st.data(), st.integers(0, 2**40), st.integers(0, 5))
def test_columns_are_what_the_runtime_makes(data: st.DataObject, row_offset: int, start: int) -> None:
    count = data.draw(st.integers(0, 40))
    selected = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    cells = [
        (name, data.draw(st.lists(st.none() | KINDS[name][1], min_size=count, max_size=count))) for name in selected
    ]
    fields = [sql_field(f"c{i}", KINDS[name][0], name) for i, (name, _) in enumerate(cells)]
    arrays = [pa.array(values, KINDS[name][0]) for name, values in cells]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields)).slice(start)
    halves = pa.concat_tables([table.slice(0, 3), table.slice(3)])  # as pages come: in chunks
    made = b"".join(encode_columns(halves, row_offset, "UTC"))
    assert made == expected(row_offset, [(name, values[start:]) for name, values in cells])


TEXT: list[tuple[str, pa.DataType, Any, str]] = [
    ("decimal(10,2)", pa.decimal128(10, 2), Decimal("1.50"), "1.50"),
    ("date", pa.date32(), dt.date(2024, 2, 29), "2024-02-29"),
    ("timestamp", pa.timestamp("us", "UTC"), dt.datetime(2024, 7, 1), "2024-07-01 02:00:00"),
    ("timestamp_ntz", pa.timestamp("us"), dt.datetime(2024, 7, 1, 0, 0, 0, 120000), "2024-07-01 00:00:00.12"),
    ("interval day to second", pa.duration("us"), dt.timedelta(1), "1 00:00:00.000000000"),
    ("array<int>", pa.list_(pa.int32()), [1, None], "[1,null]"),
    ("map<string,int>", pa.map_(pa.string(), pa.int32()), [("a", 1)], '{"a":1}'),
    ("array<float>", pa.list_(pa.float32()), [17.604954, 0.1], "[17.604954,0.1]"),
    ("struct<a:int>", pa.struct([("a", pa.int32())]), {"a": 1}, '{"a":1}'),
]


@pytest.mark.parametrize(("sql_type", "kind", "value", "text"), TEXT, ids=lambda case: str(case)[:20])
def test_types_that_travel_as_text(sql_type: str, kind: pa.DataType, value: Any, text: str) -> None:
    table = pa.Table.from_arrays([pa.array([value, None], kind)], schema=pa.schema([sql_field("c", kind, sql_type)]))
    assert column_type(sql_type).slot is Slot.STRING
    assert b"".join(encode_columns(table, 0, "Europe/Paris")) == expected(0, [(sql_type, [text, None])])


def test_a_float_has_its_own_digits_in_columns_and_rows() -> None:
    table = pa.table(
        [pa.array([17.604954, 0.1, None], pa.float32())], schema=pa.schema([sql_field("f", pa.float32(), "float")])
    )
    columns = TRowSet(0, [], [TColumn(doubleVal=Slot.DOUBLE.value.column([17.604954, 0.1, 0.0], b"\x04"))])
    assert b"".join(encode_columns(table, 0, "UTC")) == thrift_bytes(columns)
    rows = [TRow([TColumnValue(doubleVal=TDoubleValue(value))]) for value in (17.604954, 0.1, None)]
    assert b"".join(encode_rows(table, 0, "UTC")) == thrift_bytes(TRowSet(0, rows))


def test_a_golden_row_set() -> None:
    schema = pa.schema([sql_field("i", pa.int32(), "int"), sql_field("s", pa.string(), "string")])
    table = pa.Table.from_arrays([pa.array([1, None], pa.int32()), pa.array(["é", ""])], schema=schema)
    assert b"".join(encode_columns(table, 7, "UTC")).hex(" ") == (
        "0a 00 01 00 00 00 00 00 00 00 07 "  # startRowOffset = 7
        "0f 00 02 0c 00 00 00 00 "  # rows = []
        "0f 00 03 0c 00 00 00 02 "  # columns, two:
        "0c 00 04 0f 00 01 08 00 00 00 02 00 00 00 01 00 00 00 00 0b 00 02 00 00 00 01 02 00 00 "
        "0c 00 07 0f 00 01 0b 00 00 00 02 00 00 00 02 c3 a9 00 00 00 00 0b 00 02 00 00 00 00 00 00 "
        "00"
    )


def test_a_response_is_what_the_runtime_makes() -> None:
    table = pa.table([pa.array([1], pa.int32())], schema=pa.schema([sql_field("i", pa.int32(), "int")]))
    made = b"".join(encode_fetch_response(TStatus(0), True, encode_columns(table, 0, "UTC")))
    row_set = TRowSet(0, [], [TColumn(i32Val=Slot.I32.value.column([1], b""))])
    assert made == thrift_bytes(TFetchResultsResp(TStatus(0), True, row_set))


def test_rows_for_old_clients() -> None:
    fields = [("i", pa.int32(), "int"), ("s", pa.string(), "string"), ("b", pa.binary(), "binary")]
    schema = pa.schema([sql_field(*field) for field in fields])
    table = pa.Table.from_pylist([{"i": 1, "s": "x", "b": b"\xff"}, {"i": None, "s": None, "b": None}], schema)
    rows = [
        TRow([TColumnValue(i32Val=TI32Value(i)), *(TColumnValue(stringVal=TStringValue(text)) for text in texts)])
        for i, texts in ((1, ["x", "\ufffd"]), (None, [None, None]))
    ]
    assert b"".join(encode_rows(table, 5, "UTC")) == thrift_bytes(TRowSet(5, rows))
    assert b"".join(encode_rows(table.slice(0, 0), 0, "UTC")) == thrift_bytes(TRowSet(0, []))


def test_an_empty_table_keeps_its_columns() -> None:
    table = pa.schema([sql_field("i", pa.int64(), "bigint"), sql_field("s", pa.string(), "string")]).empty_table()
    assert b"".join(encode_columns(table, 3, "UTC")) == expected(3, [("bigint", []), ("string", [])])
