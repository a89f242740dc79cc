"""Type names on the wire and in JDBC, for every spelling in Spark's DDL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.runtime.results import sql_field
from gateway.hs2.gen.ttypes import TTypeId
from gateway.hs2.jdbc_types import JDBC_TYPES, TYPE_INFO, describe_type
from gateway.hs2.types import Slot, column_type, table_schema

T = TTypeId
WIRE = [
    ("boolean", T.BOOLEAN_TYPE, Slot.BOOL, {}),
    ("tinyint", T.TINYINT_TYPE, Slot.BYTE, {}),
    ("smallint", T.SMALLINT_TYPE, Slot.I16, {}),
    ("int", T.INT_TYPE, Slot.I32, {}),
    ("bigint", T.BIGINT_TYPE, Slot.I64, {}),
    ("float", T.FLOAT_TYPE, Slot.DOUBLE, {}),
    ("double", T.DOUBLE_TYPE, Slot.DOUBLE, {}),
    ("decimal(38,18)", T.DECIMAL_TYPE, Slot.STRING, {"precision": 38, "scale": 18}),
    ("string", T.STRING_TYPE, Slot.STRING, {}),
    ("string collate UTF8_LCASE", T.STRING_TYPE, Slot.STRING, {}),
    ("varchar(5)", T.VARCHAR_TYPE, Slot.STRING, {"characterMaximumLength": 5}),
    ("char(3)", T.CHAR_TYPE, Slot.STRING, {"characterMaximumLength": 3}),
    ("binary", T.BINARY_TYPE, Slot.BINARY, {}),
    ("date", T.DATE_TYPE, Slot.STRING, {}),
    ("timestamp", T.TIMESTAMP_TYPE, Slot.STRING, {}),
    ("timestamp_ntz", T.TIMESTAMP_TYPE, Slot.STRING, {}),
    ("void", T.NULL_TYPE, Slot.STRING, {}),
    ("interval year to month", T.INTERVAL_YEAR_MONTH_TYPE, Slot.STRING, {}),
    ("interval month", T.INTERVAL_YEAR_MONTH_TYPE, Slot.STRING, {}),
    ("interval day to second", T.INTERVAL_DAY_TIME_TYPE, Slot.STRING, {}),
    ("interval second", T.INTERVAL_DAY_TIME_TYPE, Slot.STRING, {}),
    ("interval", T.STRING_TYPE, Slot.STRING, {}),
    ("array<decimal(3,1)>", T.ARRAY_TYPE, Slot.STRING, {}),
    ("map<string,int>", T.MAP_TYPE, Slot.STRING, {}),
    ("struct<a:int>", T.STRUCT_TYPE, Slot.STRING, {}),
    ("variant", T.STRING_TYPE, Slot.STRING, {}),
    ("time(6)", T.STRING_TYPE, Slot.STRING, {}),
    ("", T.STRING_TYPE, Slot.STRING, {}),
]


@pytest.mark.parametrize(("sql_type", "type_id", "slot", "qualifiers"), WIRE, ids=[case[0] for case in WIRE])
def test_wire_types(sql_type: str, type_id: TTypeId, slot: Slot, qualifiers: dict[str, int]) -> None:
    kind = column_type(sql_type)
    assert (kind.type_id, kind.slot, dict(kind.qualifiers)) == (type_id, slot, qualifiers)


def test_a_schema_counts_from_one_and_keeps_names() -> None:
    fields = [sql_field("a b", pa.int32(), "int"), sql_field("ü", pa.decimal128(4, 1), "decimal(4,1)")]
    columns = table_schema(pa.schema(fields)).columns
    assert [(column.columnName, column.position) for column in columns] == [("a b", 1), ("ü", 2)]
    entry = columns[1].typeDesc.types[0].primitiveEntry
    assert {name: value.i32Value for name, value in entry.typeQualifiers.qualifiers.items()} == {
        "precision": 4,
        "scale": 1,
    }


@pytest.mark.parametrize(
    ("sql_type", "name", "code", "size", "digits"),
    [
        ("int", "INT", 4, 10, 0),
        ("decimal(12,3)", "DECIMAL(12,3)", 3, 12, 3),
        ("varchar(7)", "VARCHAR(7)", 12, 7, None),
        ("char(2)", "CHAR(2)", 1, 2, None),
        ("timestamp_ntz", "TIMESTAMP_NTZ", 93, 29, 6),
        ("interval day to second", "INTERVAL DAY TO SECOND", 1111, None, None),
        ("struct<aB:int>", "STRUCT<aB: INT>", 2002, None, None),
        ("struct<name:string,age:int>", "STRUCT<name: STRING, age: INT>", 2002, None, None),
        (
            "struct<a:decimal(10,2),b:map<string,struct<c:array<int>,d:interval day to second>>,é :date>",
            "STRUCT<a: DECIMAL(10,2), b: MAP<STRING, STRUCT<c: ARRAY<INT>, d: INTERVAL DAY TO SECOND>>, é : DATE>",
            2002,
            None,
            None,
        ),
        ("array<struct<>>", "ARRAY<STRUCT<>>", 2003, None, None),
        ("map<int,varchar(3)>", "MAP<INT, VARCHAR(3)>", 2000, None, None),
        ("string collate UTF8_LCASE", "STRING COLLATE UTF8_LCASE", 12, 2**31 - 1, None),
        ("time(6)", "TIME(6)", 12, 6, None),
    ],
)
def test_jdbc_types(sql_type: str, name: str, code: int, size: int | None, digits: int | None) -> None:
    described = describe_type(sql_type)
    assert (described.name, described.code, described.size, described.digits) == (name, code, size, digits)


def test_type_info_has_every_type_in_the_order_of_its_code() -> None:
    codes = [row["DATA_TYPE"] for row in TYPE_INFO]
    assert codes == sorted(codes)
    assert {row["TYPE_NAME"] for row in TYPE_INFO} == {kind.name for kind in JDBC_TYPES.values()}
