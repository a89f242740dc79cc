"""JDBC's metadata columns: their exact sets, and the shapes that turn the engine's lists into them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.runtime.identity import Identity
from engine.runtime.results import ResultStream, sql_type_of
from engine.runtime.statement import Statement
from engine.statements.listings.statement import (
    ListColumns,
    ListForeignKeys,
    ListFunctions,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
)
from gateway.hs2 import metadata
from gateway.hs2.metadata import Shape, parse_catalog, parse_pattern, parse_table_types
from tests.gateway.arrow_engine import ArrowEngine

COLUMN_COUNTS = [
    (metadata.CATALOGS, 1),
    (metadata.SCHEMAS, 2),
    (metadata.TABLES, 10),
    (metadata.TABLE_TYPES, 1),
    (metadata.COLUMNS, 23),
    (metadata.FUNCTIONS, 6),
    (metadata.TYPES, 18),
    (metadata.PRIMARY_KEYS, 6),
    (metadata.CROSS_REFERENCES, 14),
]


@pytest.mark.parametrize(("schema", "count"), COLUMN_COUNTS, ids=lambda case: getattr(case, "names", [""])[0])
def test_column_sets_have_the_size_that_jdbc_says(schema: pa.Schema, count: int) -> None:
    assert len(schema) == count
    assert all(sql_type_of(field) for field in schema)


def test_columns_are_those_of_database_meta_data() -> None:
    assert [(field.name, sql_type_of(field)) for field in metadata.COLUMNS][4:9] == [
        ("DATA_TYPE", "int"),
        ("TYPE_NAME", "string"),
        ("COLUMN_SIZE", "int"),
        ("BUFFER_LENGTH", "tinyint"),
        ("DECIMAL_DIGITS", "int"),
    ]


def listed(statement: Statement, shape: Shape) -> list[dict[str, object]]:
    engine = ArrowEngine(tables={("lab", "t"): pa.table({"i": pa.array([1], pa.int32()), "s": ["x"]})})
    session = engine.open_session(Identity("ada"), settings={}, catalog=None, schema=None)
    stream = shape(session.run(statement, request=None))  # type: ignore[arg-type]
    assert isinstance(stream, ResultStream)
    table = pa.Table.from_batches(list(stream.batches()), stream.schema)
    assert table.schema.equals(shape.schema, check_metadata=True)
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


def test_shapes() -> None:
    assert listed(ListSchemas(), metadata.SCHEMA_SHAPE) == [
        {"TABLE_SCHEM": "default", "TABLE_CATALOG": "spark_catalog"},
        {"TABLE_SCHEM": "lab", "TABLE_CATALOG": "spark_catalog"},
    ]
    assert listed(ListTables(), metadata.TABLE_SHAPE) == [
        {
            "TABLE_CAT": "spark_catalog",
            "TABLE_SCHEM": "lab",
            "TABLE_NAME": "t",
            "TABLE_TYPE": "TABLE",
            "REMARKS": "",
        }
    ]
    place = {"TABLE_CAT": "spark_catalog", "TABLE_SCHEM": "lab", "TABLE_NAME": "t"}
    common = {"NULLABLE": 1, "REMARKS": "", "IS_NULLABLE": "YES", "IS_AUTO_INCREMENT": "NO"}
    assert listed(ListColumns(), metadata.COLUMN_SHAPE) == [
        place
        | {"COLUMN_NAME": "i", "DATA_TYPE": 4, "TYPE_NAME": "INT", "COLUMN_SIZE": 10, "DECIMAL_DIGITS": 0}
        | {"NUM_PREC_RADIX": 10, "ORDINAL_POSITION": 0}
        | common,
        place
        | {"COLUMN_NAME": "s", "DATA_TYPE": 12, "TYPE_NAME": "STRING", "COLUMN_SIZE": 2**31 - 1}
        | {"CHAR_OCTET_LENGTH": 2**31 - 1, "ORDINAL_POSITION": 1}
        | common,
    ]
    (function,) = listed(ListFunctions(pattern="abs"), metadata.FUNCTION_SHAPE)
    assert function == {
        "FUNCTION_CAT": "spark_catalog",
        "FUNCTION_SCHEM": "lab",
        "FUNCTION_NAME": "abs",
        "REMARKS": "The function abs.",
        "FUNCTION_TYPE": 1,
        "SPECIFIC_NAME": "abs",
    }


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        (None, None),
        ("", None),
        ("%", None),
        ("*", None),
        (".*", None),
        ("a.*", "a%"),
        ("t_1", "t_1"),
        (r"t\_1", r"t\_1"),
    ],
)
def test_patterns(given: str | None, parsed: str | None) -> None:
    assert parse_pattern(given) == parsed


@pytest.mark.parametrize(
    ("names", "types"),
    [
        (None, ()),
        ([], ()),
        (["table"], ("TABLE",)),
        (["VIRTUAL_VIEW", "MANAGED_TABLE", "SYSTEM TABLE"], ("TABLE", "VIEW")),
        (["SYSTEM TABLE"], None),
    ],
)
def test_table_types(names: list[str] | None, types: tuple[str, ...] | None) -> None:
    assert parse_table_types(names) == types


@pytest.mark.parametrize(
    ("name", "catalog"),
    [(None, None), ("", None), ("%", None), ("a", "a"), ("hive\\_metastore", "hive_metastore"), ("hive_x", "hive_x")],
)
def test_a_catalog_is_a_name_whose_underscores_may_be_escaped(name: str | None, catalog: str | None) -> None:
    assert parse_catalog(name) == catalog


def test_keys() -> None:
    (primary,) = listed(ListPrimaryKeys(), metadata.PRIMARY_KEY_SHAPE)
    assert (primary["TABLE_NAME"], primary["COLUMN_NAME"], primary["KEY_SEQ"], primary["PK_NAME"]) == (
        "t",
        "id",
        1,
        "pk",
    )
    (foreign,) = listed(ListForeignKeys(), metadata.CROSS_REFERENCE_SHAPE)
    assert (foreign["PKTABLE_NAME"], foreign["FKCOLUMN_NAME"], foreign["FK_NAME"]) == ("parent", "parent_id", "fk")
    assert (foreign["UPDATE_RULE"], foreign["DELETE_RULE"], foreign["DEFERRABILITY"]) == (3, 3, 7)
