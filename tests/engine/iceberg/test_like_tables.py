"""CREATE TABLE … LIKE between Iceberg and Delta tables, and the named errors for unsupported properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.handmade import HandmadeTable


@pytest.fixture
def bare(tmp_path: Path) -> BareLake:
    made = BareLake(tmp_path)
    made.answer(
        "CREATE TABLE i (id BIGINT NOT NULL COMMENT 'c', p STRING, s STRUCT<a: INT, b: ARRAY<DATE>>) USING iceberg"
        " PARTITIONED BY (p) COMMENT 'table' TBLPROPERTIES ('own' = '1', 'format-version' = '3')"
    )
    made.answer(
        "CREATE TABLE d (id BIGINT NOT NULL COMMENT 'c', p STRING, n SMALLINT) USING delta PARTITIONED BY (p)"
        " COMMENT 'table' TBLPROPERTIES ('own' = '1', 'delta.columnMapping.mode' = 'name')"
    )
    return made


def statement_of(bare: BareLake, name: str) -> str:
    text: str = bare.rows(f"SHOW CREATE TABLE {name}")[0][0]
    return text.replace(f"`{name}`", "`_`")


def test_a_table_of_the_same_format(bare: BareLake) -> None:
    bare.answer("ALTER TABLE i ADD PARTITION FIELD bucket(4, id) AS b")
    bare.answer("ALTER TABLE i WRITE ORDERED BY id DESC")
    bare.answer("ALTER TABLE i SET IDENTIFIER FIELDS id")
    bare.answer("ALTER TABLE i DROP COLUMN s.b")
    bare.answer("CREATE TABLE l LIKE i TBLPROPERTIES ('more' = '2')")
    assert statement_of(bare, "l") == statement_of(bare, "i").replace("  'own'", "  'more' = '2',\n  'own'")
    found, other = (bare.sources.formats["iceberg"].load(str(bare.path(name))) for name in "li")
    assert isinstance(found, IcebergSnapshot) and isinstance(other, IcebergSnapshot)
    assert found.metadata.table_uuid != other.metadata.table_uuid
    assert [each.transform for each in found.metadata.spec.fields] == [
        each.transform for each in other.metadata.spec.fields
    ]
    assert found.metadata.order.fields == other.metadata.order.fields
    assert found.iceberg_schema.identifier_ids == other.iceberg_schema.identifier_ids
    bare.answer("CREATE TABLE IF NOT EXISTS l LIKE d USING iceberg")
    bare.answer("ALTER TABLE l ADD COLUMN z INT")


def test_tables_of_the_other_format(bare: BareLake) -> None:
    bare.answer("CREATE TABLE l LIKE d USING iceberg")
    assert statement_of(bare, "l") == (
        "CREATE TABLE `spark_catalog`.`default`.`_` (\n  `id` BIGINT NOT NULL COMMENT 'c',\n  `p` STRING,\n  `n` INT)\n"
        "USING iceberg\nPARTITIONED BY (`p`)\nCOMMENT 'table'\nTBLPROPERTIES (\n  'format-version' = '2',\n"
        "  'own' = '1')\n"
    )
    bare.answer("CREATE TABLE m LIKE i USING delta")
    assert bare.rows("DESCRIBE DETAIL m")[0][0] == "delta"
    assert "`b`: ARRAY<DATE>>)\nUSING delta\nPARTITIONED BY (`p`)\nCOMMENT 'table'" in statement_of(bare, "m")


def test_defaults_are_of_new_rows(bare: BareLake) -> None:
    column = {"id": 1, "name": "x", "required": False, "type": "int", "initial-default": 5, "write-default": 7}
    HandmadeTable(bare.path("h"), columns=[column], version=3).write()
    bare.answer("CREATE TABLE l LIKE h")
    found = bare.sources.formats["iceberg"].load(str(bare.path("l")))
    assert isinstance(found, IcebergSnapshot)
    (made,) = found.iceberg_schema.fields
    assert (made.initial_default, made.write_default) == (None, 7)
    bare.answer("CREATE TABLE m LIKE h USING delta")
    assert "`x` INT DEFAULT 7)" in statement_of(bare, "m")


REFUSED = [
    ("CREATE TABLE l LIKE b USING delta", "UNSUPPORTED_LAYOUT"),
    ("CREATE TABLE l LIKE g USING iceberg", "ICEBERG_CHANGE_NOT_SUPPORTED"),
    ("CREATE TABLE l LIKE c USING iceberg", "ICEBERG_CHANGE_NOT_SUPPORTED"),
    ("CREATE TABLE l LIKE i USING parquet", "DATA_SOURCE_NOT_FOUND"),
    ("CREATE TABLE i LIKE d", "TABLE_OR_VIEW_ALREADY_EXISTS"),
    ("CREATE TABLE l CLONE i", "DELTA_TABLE_ONLY_OPERATION"),
    ("CREATE OR REPLACE TABLE i (id INT) USING delta", "UNSUPPORTED_FEATURE.STATEMENT"),
    ("CALL system.add_files('d', 'parquet.`/x`')", "UNSUPPORTED_FEATURE.STATEMENT"),
    ("VACUUM i", "ICEBERG_STATEMENT_NOT_SUPPORTED"),
    ("ANALYZE TABLE i COMPUTE DELTA STATISTICS", "ICEBERG_STATEMENT_NOT_SUPPORTED"),
    ("ALTER TABLE d ADD PARTITION FIELD bucket(4, id)", "UNSUPPORTED_LAYOUT"),
]


@pytest.mark.parametrize(("statement", "condition"), REFUSED)
def test_properties_of_one_format_are_not_copied(bare: BareLake, statement: str, condition: str) -> None:
    bare.answer("CREATE TABLE b (id BIGINT) USING iceberg PARTITIONED BY (bucket(4, id))")
    bare.answer("CREATE TABLE g (id BIGINT GENERATED ALWAYS AS IDENTITY) USING delta")
    bare.answer("CREATE TABLE c (id BIGINT) USING delta CLUSTER BY (id)")
    assert bare.refuse(statement).condition == condition
