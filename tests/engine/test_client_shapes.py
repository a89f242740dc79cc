"""Clients' metadata queries, and the columns by which they parse the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.engine.bare_lake import BareLake


@pytest.fixture
def lake(tmp_path: Path) -> BareLake:
    lake = BareLake(tmp_path)
    for text in (
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.items (id BIGINT NOT NULL COMMENT 'which', price DECIMAL(9,2), code VARCHAR(5), "
        "at TIMESTAMP, tags ARRAY<STRING>, place STRUCT<city: STRING COMMENT 'where', zip: INT>, "
        "counts MAP<STRING, INT>, day DATE) PARTITIONED BY (day) COMMENT 'What is sold'",
        "CREATE TABLE shop.other (id INT)",
    ):
        lake.answer(text)
    return lake


SHAPES: list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]] = [
    ("SHOW SCHEMAS IN spark_catalog LIKE 'shop'", ("databaseName",), [("shop",)]),
    ("SHOW SCHEMAS LIKE 'shop'", ("namespace",), [("shop",)]),
    ("SHOW SCHEMAS IN ALL CATALOGS LIKE 'shop'", ("databaseName", "catalog"), [("shop", "spark_catalog")]),
    ("SHOW SCHEMAS IN CATALOG hive_metastore LIKE 's%'", ("databaseName", "catalog"), [("shop", "spark_catalog")]),
    ("SHOW CATALOGS", ("catalog",), [("spark_catalog",)]),
    (
        "SHOW TABLES IN CATALOG `hive_metastore` SCHEMA LIKE 'shop' LIKE 'o%'",
        ("namespace", "tableName", "isTemporary", "information", "catalogName", "tableType", "remarks"),
        [("shop", "other", False, "", "spark_catalog", "TABLE", "")],
    ),
    (
        "SHOW TABLES IN ALL CATALOGS SCHEMA LIKE 'shop' LIKE 'items'",
        ("namespace", "tableName", "isTemporary", "information", "catalogName", "tableType", "remarks"),
        [("shop", "items", False, "", "spark_catalog", "TABLE", "What is sold")],
    ),
    (
        "SHOW COLUMNS IN CATALOG spark_catalog SCHEMA LIKE 'shop' TABLE LIKE 'items' LIKE '%e'",
        (
            *("col_name", "catalogName", "namespace", "tableName", "columnType", "columnSize", "decimalDigits"),
            *("radix", "isNullable", "remarks", "ordinalPosition", "isAutoIncrement", "isGenerated"),
        ),
        [
            ("price", "spark_catalog", "shop", "items", "DECIMAL(9,2)", 9, 2, 10, "true", "", 1, "NO", "NO"),
            ("code", "spark_catalog", "shop", "items", "VARCHAR(5)", 5, None, None, "true", "", 2, "NO", "NO"),
            (
                *("place", "spark_catalog", "shop", "items", "STRUCT<city:string,zip:int>", None, None, None, "true"),
                *("", 5, "NO", "NO"),
            ),
        ],
    ),
    (
        "SHOW FUNCTIONS IN CATALOG spark_catalog SCHEMA LIKE '%' LIKE '%'",
        ("functionName", "namespace", "catalogName", "remarks", "functionType", "specificName"),
        [],
    ),
    ("SHOW LOCKS shop.items", ("tab_name", "mode"), []),
    ("SHOW ROLES", ("role",), []),
    ("SHOW GRANTS ON TABLE shop.items", ("Principal", "ActionType", "ObjectType", "ObjectKey"), []),
    ("REFRESH TABLE shop.items", (), []),
    ("INVALIDATE METADATA", (), []),
    ("MSCK REPAIR TABLE shop.items", (), []),
]


@pytest.mark.parametrize(("text", "columns", "expected"), SHAPES, ids=[text for text, _, _ in SHAPES])
def test_columns_and_rows(lake: BareLake, text: str, columns: tuple[str, ...], expected: list[tuple[Any, ...]]) -> None:
    found = lake.answer(text)
    assert tuple(found.schema.names) == columns
    assert [tuple(row.values()) for row in found.to_pylist()] == expected


@pytest.mark.parametrize(
    "text", ["REFRESH TABLE nope", "SHOW GRANTS ON nope", "MSCK REPAIR TABLE nope", "SHOW LOCKS nope"]
)
def test_a_table_that_is_not_there_is_an_error(lake: BareLake, text: str) -> None:
    assert lake.refuse(text).condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_clustering_columns_are_a_property_as_dbt_reads_them(lake: BareLake) -> None:
    lake.answer("CREATE TABLE shop.clustered (id INT, place STRUCT<zip: INT>, n INT) CLUSTER BY (id, place.zip)")
    shown = ("clusteringColumns", '[["id"],["place","zip"]]')
    assert shown in lake.rows("SHOW TBLPROPERTIES shop.clustered")
    assert lake.rows("SHOW TBLPROPERTIES shop.clustered ('clusteringColumns')") == [shown]
    assert "clusteringColumns" not in dict(lake.rows("SHOW TBLPROPERTIES shop.items"))


def test_use_with_a_catalog(lake: BareLake) -> None:
    for text in ("USE CATALOG hive_metastore", "SET CATALOG `hive_metastore`", "USE hive_metastore.shop"):
        lake.answer(text)
        assert lake.state.catalog == "spark_catalog", text
    lake.answer("SET CATALOG spark_catalog")
    assert lake.state.schema == "shop", "the current catalog retains its schema"
    assert lake.rows("SHOW TABLES LIKE 'o*'") == [("shop", "other", False)]


def test_tables_in_the_shape_of_hive(lake: BareLake) -> None:
    """PyHive's SQLAlchemy dialect takes the first column; a client enables this shape by a setting."""
    lake.answer("USE shop")
    assert lake.rows("SHOW TABLES") == [("shop", "items", False), ("shop", "other", False)]
    lake.answer("SET gateway.show_tables.hive_shape = true")
    for text in ("SHOW TABLES", "SHOW TABLES IN `shop`"):
        assert lake.answer(text).to_pydict() == {"tab_name": ["items", "other"]}
    assert lake.answer("SHOW VIEWS IN shop").to_pydict() == {"tab_name": []}


def test_partitions_in_the_shape_of_hive(lake: BareLake) -> None:
    lake.answer("CREATE TABLE shop.parts (n INT, `the:day` STRING, city STRING) PARTITIONED BY (`the:day`, city)")
    table = pa.table({"n": pa.array([1, 2], pa.int32()), "the:day": ["a/b=1%", None], "city": ["Delft", "Ede é"]})
    write_deltalake(lake.folder / "shop" / "parts", table, mode="append", partition_by=["the:day", "city"])
    assert lake.rows("SHOW PARTITIONS shop.parts") == [("a/b=1%", "Delft"), (None, "Ede é")]
    lake.answer("SET gateway.show_tables.hive_shape = true")
    partitions = ["the%3Aday=a%2Fb%3D1%25/city=Delft", "the%3Aday=__HIVE_DEFAULT_PARTITION__/city=Ede é"]
    assert lake.answer("SHOW PARTITIONS shop.parts").to_pydict() == {"partition": partitions}


def test_describe_as_json(lake: BareLake) -> None:
    (text,) = lake.answer("DESCRIBE TABLE EXTENDED shop.items AS JSON")["json_metadata"].to_pylist()
    keys_json = json.loads(text)
    known = ("table_name", "catalog_name", "namespace", "schema_name", "provider", "type", "comment")
    assert [keys_json[key] for key in known] == [
        *("items", "spark_catalog", ["shop"], "shop", "delta", "MANAGED", "What is sold")
    ]
    assert keys_json["partition_columns"] == ["day"] and keys_json["location"].endswith("/shop/items")
    assert keys_json["created_time"].endswith("Z") and "T" in keys_json["created_time"]
    columns = {column["name"]: column for column in keys_json["columns"]}
    assert columns["id"] == {"name": "id", "type": {"name": "bigint"}, "comment": "which", "nullable": False}
    text_type = {"name": "string", "collation": "UTF8_BINARY"}
    assert {name: column["type"] for name, column in columns.items() if name != "id"} == {
        "price": {"name": "decimal", "precision": 9, "scale": 2},
        "code": {"name": "varchar", "length": 5},
        "at": {"name": "timestamp_ltz"},
        "tags": {"name": "array", "element_type": text_type, "element_nullable": True},
        "place": {
            "name": "struct",
            "fields": [
                {"name": "city", "type": text_type, "comment": "where", "nullable": True},
                {"name": "zip", "type": {"name": "int"}, "nullable": True},
            ],
        },
        "counts": {"name": "map", "key_type": text_type, "value_type": {"name": "int"}, "value_nullable": True},
        "day": {"name": "date"},
    }


def test_columns_that_the_table_fills_as_json(lake: BareLake) -> None:
    lake.answer("CREATE TABLE shop.filled (id BIGINT GENERATED ALWAYS AS IDENTITY, at TIMESTAMP, day DATE)")
    log = lake.folder / "shop" / "filled" / "_delta_log"
    (metadata,) = (line for line in (log / f"{0:020}.json").read_text().splitlines() if '"metaData"' in line)
    day = '{\\"name\\":\\"day\\",\\"type\\":\\"date\\",\\"nullable\\":true,\\"metadata\\":{'
    generated = day + '\\"delta.generationExpression\\":\\"CAST(at AS DATE)\\"'
    assert day in metadata
    features = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["identityColumns", "generatedColumns"]}
    (log / f"{1:020}.json").write_text(f"{json.dumps({'protocol': features})}\n{metadata.replace(day, generated)}\n")
    (text,) = lake.answer("DESCRIBE TABLE EXTENDED shop.filled AS JSON")["json_metadata"].to_pylist()
    columns = {column["name"]: column for column in json.loads(text)["columns"]}
    assert columns["day"]["generation_expression"] == "CAST(at AS DATE)" and "is_identity" not in columns["day"]
    assert columns["id"]["is_identity"] is True and "generation_expression" not in columns["at"]


def test_keys_as_json(lake: BareLake) -> None:
    def keys_json() -> Any:
        return json.loads(lake.answer("DESCRIBE TABLE EXTENDED shop.keyed AS JSON")["json_metadata"].to_pylist()[0])

    lake.answer("CREATE TABLE shop.parent (id BIGINT PRIMARY KEY)")
    lake.answer("CREATE TABLE shop.keyed (id INT NOT NULL, item BIGINT)")
    assert not {"primary_key", "foreign_keys"} & set(keys_json())
    lake.answer("ALTER TABLE shop.keyed ADD CONSTRAINT pk PRIMARY KEY (id) RELY")
    lake.answer("ALTER TABLE shop.keyed ADD CONSTRAINT fk FOREIGN KEY (item) REFERENCES shop.parent (id)")
    assert keys_json()["primary_key"] == {"name": "pk", "columns": ["id"], "rely": True}
    reference = {"parent": ["spark_catalog", "shop", "parent"], "parent_columns": ["id"], "rely": False}
    assert keys_json()["foreign_keys"] == [{"name": "fk", "columns": ["item"], **reference}]
    assert keys_json()["table_constraints"] == (
        "[(pk,PRIMARY KEY (`id`)), (fk,FOREIGN KEY (`item`) REFERENCES `spark_catalog`.`shop`.`parent` (`id`))]"
    )


@pytest.mark.parametrize("format", ["PARQUET", "delta"])
def test_stored_as_what_the_files_are(lake: BareLake, format: str) -> None:
    lake.answer(f"CREATE TABLE shop.stored (id INT) STORED AS {format}")
    assert ("Provider", "delta", "") in lake.rows("DESCRIBE EXTENDED shop.stored")
