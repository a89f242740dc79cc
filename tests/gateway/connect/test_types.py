"""SQL types in messages of Spark Connect, and in DDL."""

from __future__ import annotations

import pyarrow as pa
import pyspark.sql.connect.proto as pb2
import pytest
from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type, pyspark_types_to_proto_types
from pyspark.sql.types import DataType, StructType

from catalog.conditions import UnsupportedDataType
from engine.runtime.results import sql_field
from gateway.connect.types import ddl_type, field_type, parse_ddl, parse_type_text, tree_lines

# SQL spelling -> Spark's JSON name of the type.
PLAIN = {
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "decimal(10,2)": "decimal(10,2)",
    "string": "string",
    "varchar(5)": "string",
    "char(3)": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "time(6)": "time(6)",
    "void": "void",
    "variant": "variant",
    "interval day to second": "interval day to second",
    "interval hour": "interval hour",
    "interval year to month": "interval year to month",
}


def _spark_type(message: pb2.DataType) -> DataType:
    return proto_schema_to_pyspark_data_type(message)


@pytest.mark.parametrize(("spelling", "name"), PLAIN.items())
def test_type_of_a_column_is_sparks(spelling: str, name: str) -> None:
    message = field_type(sql_field("c", pa.string(), spelling))
    assert _spark_type(message).jsonValue() == name
    assert parse_type_text(spelling) == message


def test_nested_fields_have_the_names_of_the_arrow_type() -> None:
    arrow = pa.struct([pa.field("a:b", pa.list_(pa.int32())), pa.field("c, d", pa.map_(pa.string(), pa.int64()))])
    message = field_type(sql_field("s", arrow, "struct<a:b:array<int>,c, d:map<string,bigint>>"))
    kind = _spark_type(message)
    assert isinstance(kind, StructType)
    assert [field.simpleString() for field in kind] == ["a:b:array<int>", "c, d:map<string,bigint>"]


def test_collation_of_a_string_stays() -> None:
    message = parse_type_text("string collate UTF8_LCASE")
    assert _spark_type(message).simpleString() == "string collate UTF8_LCASE"
    assert ddl_type(message) == "string collate UTF8_LCASE"


DDL = {
    "a INT, b STRING": "struct<a:int,b:string>",
    "a INT NOT NULL COMMENT 'it''s', `b c` array<struct<x: int, y map<string, decimal(5, 1)>>>": (
        "struct<a:int,b c:array<struct<x:int,y:map<string,decimal(5,1)>>>>"
    ),
    "a: bigint": "struct<a:bigint>",
    "int": "int",
    "array<long>": "array<bigint>",
    "struct<a: byte>": "struct<a:tinyint>",
    "d interval day to second, t time, z timestamp_ltz": "struct<d:interval day to second,t:time(6),z:timestamp>",
}


@pytest.mark.parametrize(("text", "name"), DDL.items())
def test_ddl_of_a_client_is_parsed(text: str, name: str) -> None:
    assert _spark_type(parse_ddl(text)).simpleString() == name


def test_ddl_keeps_not_null_and_comments() -> None:
    kind = _spark_type(parse_ddl("a INT NOT NULL COMMENT 'it''s'"))
    assert isinstance(kind, StructType)
    assert (kind[0].nullable, kind[0].metadata) == (False, {"comment": "it's"})


@pytest.mark.parametrize("text", ["", "a", "a INT,", "array<int", "frobnicate", "int extra words", "a x(3)"])
def test_text_that_is_no_type_is_rejected(text: str) -> None:
    if text:
        with pytest.raises(UnsupportedDataType):
            parse_ddl(text)
    else:
        assert parse_ddl(text).struct == pb2.DataType.Struct()


@pytest.mark.parametrize("text", [*PLAIN, "array<map<int,struct<a:date>>>"])
def test_types_become_ddl_and_types_again(text: str) -> None:
    message = pyspark_types_to_proto_types(_spark_type(parse_type_text(text)))
    again = parse_type_text(ddl_type(message))
    assert _spark_type(again) == _spark_type(message)


def test_tree_is_sparks() -> None:
    message = parse_ddl("a INT NOT NULL, b array<struct<c: string>>, m map<string, int>")
    assert list(tree_lines(message, 0)) == [
        " |-- a: integer (nullable = false)",
        " |-- b: array (nullable = true)",
        " |    |-- element: struct (containsNull = true)",
        " |    |    |-- c: string (nullable = true)",
        " |-- m: map (nullable = true)",
        " |    |-- key: string",
        " |    |-- value: integer (valueContainsNull = true)",
    ]
    assert list(tree_lines(message, 1)) == [
        " |-- a: integer (nullable = false)",
        " |-- b: array (nullable = true)",
        " |-- m: map (nullable = true)",
    ]
