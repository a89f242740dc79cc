"""The metadata commands: their exact columns, and the rows of a scripted catalog."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from gateway.flight import metadata, sql_info
from tests.gateway.flight.lab import Lab, command_rows

# Columns as in FlightSql.proto; `!`: not null.
COLUMNS = {
    "CommandGetCatalogs": "catalog_name: string!",
    "CommandGetDbSchemas": "catalog_name: string, db_schema_name: string!",
    "CommandGetTables": "catalog_name: string, db_schema_name: string, table_name: string!, table_type: string!",
    "CommandGetTableTypes": "table_type: string!",
    "CommandGetPrimaryKeys": "catalog_name: string, db_schema_name: string, table_name: string!, "
    "column_name: string!, key_name: string, key_sequence: int32!",
    "CommandGetImportedKeys": "pk_catalog_name: string, pk_db_schema_name: string, pk_table_name: string!, "
    "pk_column_name: string!, fk_catalog_name: string, fk_db_schema_name: string, fk_table_name: string!, "
    "fk_column_name: string!, key_sequence: int32!, fk_key_name: string, pk_key_name: string, update_rule: uint8!, "
    "delete_rule: uint8!",
    "CommandGetXdbcTypeInfo": "type_name: string!, data_type: int32!, column_size: int32, literal_prefix: string, "
    "literal_suffix: string, create_params: list<item: string not null>, nullable: int32!, case_sensitive: bool!, "
    "searchable: int32!, unsigned_attribute: bool, fixed_prec_scale: bool!, auto_increment: bool, "
    "local_type_name: string, minimum_scale: int32, maximum_scale: int32, sql_data_type: int32!, "
    "datetime_subcode: int32, num_prec_radix: int32, interval_precision: int32",
}
COLUMNS["CommandGetExportedKeys"] = COLUMNS["CommandGetCrossReference"] = COLUMNS["CommandGetImportedKeys"]


@pytest.fixture
def tables(lab: Lab) -> Lab:
    lab.engine.tables["lab", "t"] = pa.table({"i": pa.array([1], pa.int32()), "s": ["x"]})
    lab.engine.tables["lab", "u"] = pa.table({"d": pa.array([None], pa.decimal128(10, 2))})
    lab.engine.tables["work", "t"] = pa.table({"b": [True]})
    return lab


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_are_those_of_the_protocol(tables: Lab, kind: str) -> None:
    fields = {"table": "t"} if kind.endswith("Keys") else {}
    schema = command_rows(tables.client(), kind, **fields).schema
    spelled = ", ".join(f"{field.name}: {field.type}{'' if field.nullable else '!'}" for field in schema)
    assert spelled == COLUMNS[kind]


def test_sql_info_has_a_dense_union(tables: Lab) -> None:
    table = command_rows(tables.client(), "CommandGetSqlInfo", info=[0, 8, 9, 99_999])
    assert table.schema == sql_info.SQL_INFO_SCHEMA and pa.types.is_union(table.schema.field("value").type)
    assert table.to_pylist() == [
        {"info_name": 0, "value": "delta-gateway"},
        {"info_name": 8, "value": 0},
        {"info_name": 9, "value": True},
    ]
    every = command_rows(tables.client(), "CommandGetSqlInfo")
    every.validate(full=True)
    assert every.num_rows > 50


CASES: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("CommandGetCatalogs", {}, "catalog_name", ["spark_catalog"]),
    ("CommandGetDbSchemas", {}, "db_schema_name", ["default", "lab", "work"]),
    ("CommandGetDbSchemas", {"db_schema_filter_pattern": "l_b"}, "db_schema_name", ["lab"]),
    ("CommandGetDbSchemas", {"catalog": ""}, "db_schema_name", []),
    ("CommandGetTables", {}, "table_name", ["t", "u", "t"]),
    ("CommandGetTables", {"db_schema_filter_pattern": "lab", "table_name_filter_pattern": "t%"}, "table_name", ["t"]),
    ("CommandGetTables", {"table_types": ["SYNONYM"]}, "table_name", []),
    ("CommandGetTables", {"catalog": ""}, "table_name", []),
    ("CommandGetTableTypes", {}, "table_type", ["TABLE", "VIEW"]),
    ("CommandGetPrimaryKeys", {"table": "u"}, "column_name", ["id"]),
    ("CommandGetImportedKeys", {"table": "u"}, "pk_table_name", ["parent"]),
    ("CommandGetCrossReference", {"pk_table": "parent", "fk_table": "u"}, "fk_column_name", ["parent_id"]),
    ("CommandGetXdbcTypeInfo", {"data_type": 4}, "type_name", ["INT"]),
]


@pytest.mark.parametrize(("kind", "fields", "column", "values"), CASES)
def test_rows_are_filtered_and_ordered(
    tables: Lab, kind: str, fields: dict[str, Any], column: str, values: list[str]
) -> None:
    assert command_rows(tables.client(), kind, **fields)[column].to_pylist() == values


def test_tables_have_their_schemas_with_the_types_of_columns(tables: Lab) -> None:
    rows = command_rows(tables.client(), "CommandGetTables", include_schema=True).to_pylist()
    read = {(row["db_schema_name"], row["table_name"]): pa.py_buffer(row["table_schema"]) for row in rows}
    schemas = {name: pa.ipc.read_schema(content) for name, content in read.items()}
    assert schemas["lab", "t"].types == [pa.int32(), pa.string()]
    field = schemas["lab", "u"].field("d")
    assert field.type == pa.decimal128(10, 2)
    names = ("TYPE_NAME", "PRECISION", "SCALE", "CATALOG_NAME", "SCHEMA_NAME", "TABLE_NAME")
    found = [field.metadata[f"ARROW:FLIGHT:SQL:{name}".encode()].decode() for name in names]
    assert found == ["DECIMAL(10,2)", "10", "2", "spark_catalog", "lab", "u"]


TYPES = {
    "bigint": pa.int64(),
    "timestamp_ntz": pa.timestamp("us"),
    "varchar(5)": pa.string(),
    "array<decimal(5,1)>": pa.list_(pa.decimal128(5, 1)),
    "map<string,array<int>>": pa.map_(pa.string(), pa.list_(pa.int32())),
    "struct<a:int,b:struct<c:map<int,int>,d:date>>": pa.struct(
        [("a", pa.int32()), ("b", pa.struct([("c", pa.map_(pa.int32(), pa.int32())), ("d", pa.date32())]))]
    ),
    "interval day to second": pa.duration("us"),
    "interval year to month": pa.string(),
    "variant": pa.string(),
    "void": pa.null(),
}


@pytest.mark.parametrize("sql_type", TYPES)
def test_type_of_a_column_is_that_of_results(sql_type: str) -> None:
    assert metadata.column_type(sql_type) == TYPES[sql_type]
