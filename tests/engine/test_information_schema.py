"""`information_schema`: rows from the catalog and the logs, usable in any query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from catalog.entries import TableEntry
from catalog.errors import SqlError
from engine.binding.binder import Binder
from engine.binding.bound import BoundTable
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    write_deltalake(root / "shop" / "items", pa.table({"id": [1], "o'dd \"name\\": ["x"]}))
    (root / "broken" / "t" / "_delta_log").mkdir(parents=True)
    (root / "broken" / "t" / "_delta_log" / f"{0:020}.json").write_text("{not json")
    return root


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    sources = open_sources(EngineOptions(lake_folder=str(lake)))
    opened = LakeEngine(sources, spark_driver).open_session(Identity("ann"), settings={}, catalog=None, schema="shop")
    for text in (
        "CREATE TABLE made (id BIGINT NOT NULL COMMENT 'which', price DECIMAL(9,2) DEFAULT 1.5, code VARCHAR(5),"
        " at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), tags ARRAY<STRING>, x DOUBLE,"
        " CONSTRAINT positive CHECK (id > 0)) PARTITIONED BY (day) COMMENT 'What was made'"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        "CREATE VIEW seen (n COMMENT 'number') AS SELECT id FROM made WHERE code <> 'it''s'",
    ):
        rows(opened, text)
    yield opened
    opened.close()


def rows(session: LakeSession, text: str) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementRequest(identity=Identity("ann")))
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_volumes(session: LakeSession, lake: Path) -> None:
    rows(session, "CREATE VOLUME raw COMMENT 'as delivered'")
    rows(session, "GRANT READ VOLUME ON VOLUME raw TO ann")
    (row,) = rows(
        session,
        "SELECT volume_catalog, volume_schema, volume_name, volume_type, volume_owner, comment, created IS NOT NULL,"
        f" startswith(storage_location, '{lake}/shop/') FROM information_schema.volumes",
    )
    assert row == ("spark_catalog", "shop", "raw", "MANAGED", "ann", "as delivered", True, True)
    found = rows(session, "SELECT grantee, volume_name, privilege_type FROM information_schema.volume_privileges")
    assert found == [("ann", "raw", "READ_VOLUME")]
    rows(session, "DROP VOLUME raw")


def test_tags_of_views(session: LakeSession) -> None:
    rows(session, "ALTER VIEW seen SET TAGS ('team' = 'x')")
    rows(session, "ALTER TABLE seen ALTER COLUMN n SET TAGS ('kind' = 'key')")
    found = rows(session, "SELECT table_name, tag_name, tag_value FROM information_schema.table_tags")
    assert found == [("seen", "team", "x")]
    found = rows(session, "SELECT table_name, column_name, tag_name, tag_value FROM information_schema.column_tags")
    assert found == [("seen", "n", "kind", "key")]


def test_tables_and_views(session: LakeSession, lake: Path) -> None:
    found = rows(
        session,
        "SELECT table_catalog, table_schema, table_name, table_type, is_insertable_into, table_owner, comment,"
        " data_source_format, storage_path, created IS NOT NULL FROM information_schema.tables ORDER BY 2, 3",
    )
    shop, folder = ("spark_catalog", "shop"), str(lake)
    assert found == [
        ("spark_catalog", "broken", "t", "EXTERNAL", "YES", None, None, "DELTA", f"{folder}/broken/t", False),
        (*shop, "items", "EXTERNAL", "YES", None, None, "DELTA", f"{folder}/shop/items", False),
        (*shop, "made", "MANAGED", "YES", "ann", None, "DELTA", f"{folder}/shop/made", True),
        (*shop, "seen", "VIEW", "NO", "ann", None, None, None, True),
    ]


def test_created_is_the_time_of_creation(session: LakeSession) -> None:
    assert rows(
        session,
        "SELECT abs(timestampdiff(SECOND, created, current_timestamp())) < 3600 FROM information_schema.tables"
        " WHERE table_name = 'made'",
    ) == [(True,)]


def test_alterations_of_tables_and_views(session: LakeSession) -> None:
    query = (
        "SELECT created_by, last_altered_by, abs(timestampdiff(SECOND, last_altered, current_timestamp())) < 3600"
        " FROM information_schema.tables WHERE table_name = '{}'"
    )
    for name, expected in {
        "made": ("ann", "ann", True),
        "items": (None, None, True),
        "t": (None, None, None),
        "seen": ("ann", "ann", True),
    }.items():
        assert rows(session, query.format(name)) == [expected], name


ALTERATIONS: list[tuple[str, str]] = [
    ("changing", "INSERT INTO changing VALUES (1)"),
    ("changing", "ALTER TABLE changing ADD COLUMN n INT"),
    ("changing_iceberg", "INSERT INTO changing_iceberg VALUES (1)"),
    ("changing_view", "ALTER VIEW changing_view AS SELECT 2 AS x"),
    ("changing_view", "ALTER VIEW changing_view SET TBLPROPERTIES ('a' = 'b')"),
]


@pytest.fixture
def changing(session: LakeSession) -> Iterator[LakeSession]:
    rows(session, "CREATE TABLE changing (id INT)")
    rows(session, "CREATE TABLE changing_iceberg (id INT) USING iceberg")
    rows(session, "CREATE VIEW changing_view AS SELECT 1 AS x")
    yield session
    for text in ("TABLE changing", "TABLE changing_iceberg", "VIEW changing_view"):
        rows(session, f"DROP {text}")


@pytest.mark.parametrize(("name", "text"), ALTERATIONS, ids=[text for _, text in ALTERATIONS])
def test_alteration_moves_last_altered_and_not_created(changing: LakeSession, name: str, text: str) -> None:
    query = f"SELECT created, last_altered FROM information_schema.tables WHERE table_name = '{name}'"
    ((created, before),) = rows(changing, query)
    rows(changing, text)
    ((still_created, after),) = rows(changing, query)
    assert (created, before < after) == (still_created, True)


COLUMNS = [
    ("id", 1, None, "NO", "bigint", "BIGINT", None, 19, 10, 0, None, "NEVER", None, None, "which"),
    ("price", 2, "1.5", "YES", "decimal(9,2)", "DECIMAL", None, 9, 10, 2, None, "NEVER", None, None, None),
    ("code", 3, None, "YES", "varchar(5)", "VARCHAR", 5, None, None, None, None, "NEVER", None, None, None),
    ("at", 4, None, "YES", "timestamp", "TIMESTAMP", None, None, None, None, 6, "NEVER", None, None, None),
    ("day", 5, None, "YES", "date", "DATE", None, None, None, None, 0, "ALWAYS", "CAST(at AS DATE)", 1, None),
    ("tags", 6, None, "YES", "array<string>", "ARRAY", None, None, None, None, None, "NEVER", None, None, None),
    ("x", 7, None, "YES", "double", "DOUBLE", None, 53, 2, None, None, "NEVER", None, None, None),
]


def test_columns(session: LakeSession) -> None:
    found = rows(
        session,
        "SELECT column_name, ordinal_position, column_default, is_nullable, full_data_type, data_type,"
        " character_maximum_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision,"
        " is_generated, generation_expression, partition_ordinal_position, comment"
        " FROM spark_catalog.information_schema.columns WHERE table_name = 'made' ORDER BY ordinal_position",
    )
    assert found == COLUMNS


def test_broken_tables_are_left_out_of_columns_and_odd_names_are_whole(session: LakeSession) -> None:
    assert rows(
        session,
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_name IN ('t', 'items', 'seen')"
        " ORDER BY 1, 2",
    ) == [("items", "id"), ("items", "o'dd \"name\\"), ("seen", "n")]


QUERIES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("SELECT * FROM information_schema.catalogs", [("spark_catalog", None, None)]),
    ("TABLE information_schema.information_schema_catalog_name", [("spark_catalog",)]),
    (
        "SELECT schema_name, schema_owner FROM INFORMATION_SCHEMA.Schemata ORDER BY 1",
        [("broken", None), ("default", None), ("shop", None)],
    ),
    (
        "SELECT table_name, view_definition FROM information_schema.views",
        [("seen", "SELECT id FROM made WHERE code <> 'it''s'")],
    ),
    (
        "SELECT table_name, constraint_name, check_clause, constraint_type, enforced FROM"
        " information_schema.table_constraints JOIN information_schema.check_constraints USING (constraint_name)",
        [("made", "positive", "id > 0", "CHECK", "YES")],
    ),
    (
        "SELECT DISTINCT table_catalog FROM system.information_schema.tables",
        [("spark_catalog",)],
    ),
    (
        "SELECT count(*) FROM system.information_schema.columns c JOIN information_schema.tables t"
        " USING (table_schema, table_name) WHERE t.table_type = 'VIEW'",
        [(1,)],
    ),
    ("SHOW TABLES IN information_schema LIKE 't*'", [
        ("information_schema", "table_constraints", False),
        ("information_schema", "table_privileges", False),
        ("information_schema", "table_tags", False),
        ("information_schema", "tables", False),
    ]),
    (
        "DESCRIBE information_schema.catalogs",
        [("catalog_name", "string", None), ("catalog_owner", "string", None), ("comment", "string", None)],
    ),
    ("SHOW SCHEMAS", [("broken",), ("default",), ("shop",)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), QUERIES, ids=[text for text, _ in QUERIES])
def test_queries(session: LakeSession, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(session, text) == expected


def test_views_and_the_current_schema(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT table_name FROM information_schema.tables")
    rows(session, "USE information_schema")
    assert rows(session, "SELECT table_name FROM views") == [("seen",)]
    rows(session, "USE shop")
    assert ("made",) in rows(session, "SELECT * FROM mine")


REFUSED = (
    ("CREATE TABLE information_schema.t (id INT)", "FORBIDDEN_OPERATION"),
    ("CREATE TABLE information_schema.tables (id INT)", "TABLE_OR_VIEW_ALREADY_EXISTS"),
    ("CREATE VIEW information_schema.v AS SELECT 1", "FORBIDDEN_OPERATION"),
    ("CREATE SCHEMA information_schema", "FORBIDDEN_OPERATION"),
    ("DROP SCHEMA information_schema CASCADE", "FORBIDDEN_OPERATION"),
    ("DROP VIEW information_schema.tables", "FORBIDDEN_OPERATION"),
    ("DROP TABLE information_schema.tables", "EXPECT_TABLE_NOT_VIEW"),
    ("INSERT INTO information_schema.catalogs VALUES ('a', 'b', 'c')", "EXPECT_TABLE_NOT_VIEW"),
    ("SELECT * FROM information_schema.nothing", "TABLE_OR_VIEW_NOT_FOUND"),
    ("SELECT * FROM nowhere.information_schema.tables", "NOT_FOUND"),
    ("SELECT * FROM information_schema.tables VERSION AS OF 1", "UNSUPPORTED_FEATURE.TIME_TRAVEL"),
)


@pytest.mark.parametrize(("text", "condition"), REFUSED, ids=[text for text, _ in REFUSED])
def test_the_schema_is_read_only(session: LakeSession, lake: Path, text: str, condition: str) -> None:
    with pytest.raises(SqlError) as raised:
        rows(session, text)
    assert condition in raised.value.condition, raised.value
    assert not (lake / "information_schema").exists()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the tables whose logs are opened for a listing."""
    names: list[str] = []

    def note(binder: Binder, entry: TableEntry) -> BoundTable:
        names.append(entry.name.table)
        return loaded(binder, entry)

    loaded = Binder._load_uncached
    monkeypatch.setattr(Binder, "_load_uncached", note)
    return names


LOGS_OPENED: list[tuple[str, set[str]]] = [
    ("SELECT table_name FROM {} WHERE table_name = 'made'", set()),
    ("SELECT count(*), max(created) FROM {}", set()),
    ("SELECT table_name FROM {} WHERE table_name = 'made' LIMIT 1", set()),
    ("SELECT a.table_name FROM {} a JOIN {} b USING (table_name)", set()),
    ("SELECT table_name FROM (SELECT * FROM {} WHERE table_schema = 'shop') ORDER BY 1", set()),
    ("SELECT last_altered FROM {} WHERE table_name = 'made'", {"made"}),
    ("SELECT * FROM {} WHERE table_schema = 'shop' AND table_name LIKE 'i%'", {"items"}),
    ("SELECT table_name FROM {} WHERE last_altered > '2020-01-01' AND table_name = 'items'", {"items"}),
    ("SELECT max(last_altered_by) FROM {} WHERE table_name IN ('made', 'seen')", {"made"}),
    ("SELECT 1 WHERE EXISTS (SELECT 1 FROM {} WHERE last_altered IS NULL AND table_name = 'made')", {"made"}),
]


@pytest.mark.parametrize(("text", "names"), LOGS_OPENED, ids=[text for text, _ in LOGS_OPENED])
def test_tables_are_opened_for_queries_that_use_last_altered(
    session: LakeSession, opened: list[str], text: str, names: set[str]
) -> None:
    rows(session, text.format(*["information_schema.tables"] * 2))
    assert set(opened) == names


OPENED: list[tuple[str, set[str], int]] = [
    ("columns WHERE table_schema = 'shop' AND table_name = 'made'", {"made"}, 7),
    ("columns WHERE table_name LIKE 'it%' AND table_catalog = current_catalog()", {"items"}, 2),
    ("columns WHERE table_schema = 'nowhere'", set(), 0),
    ("check_constraints WHERE constraint_schema = 'broken'", {"t"}, 0),
    ("check_constraints WHERE constraint_schema = 'SHOP'", set(), 0),
    ("check_constraints WHERE lower(constraint_schema) = 'shop'", {"made", "items", "parent", "child"}, 1),
    ("table_constraints WHERE table_name = 'made'", {"made"}, 1),
    ("table_constraints WHERE constraint_name = 'positive' AND table_name <> 't'",
     {"made", "items", "parent", "child"}, 1),
    ("constraint_column_usage WHERE table_name = 'parent' AND constraint_schema = 'shop'",
     {"made", "items", "parent", "child"}, 2),
    ("constraint_table_usage WHERE constraint_schema = 'broken'", {"t"}, 0),
    ("key_column_usage WHERE table_name = 'child' AND position_in_unique_constraint = 1", {"child", "parent"}, 1),
    ("referential_constraints WHERE constraint_schema = 'shop' AND unique_constraint_name = 'key'",
     {"made", "items", "parent", "child"}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names", "count"), OPENED, ids=[text for text, *_ in OPENED])
def test_tables_that_conditions_leave_are_opened(
    keyed: LakeSession, opened: list[str], text: str, names: set[str], count: int
) -> None:
    found = rows(keyed, f"SELECT * FROM information_schema.{text}")
    assert set(opened) == names and len(found) == count


@pytest.fixture(scope="module")
def keyed(session: LakeSession) -> Iterator[LakeSession]:
    """Creates two tables related by keys."""
    rows(session, "CREATE TABLE parent (id BIGINT NOT NULL, CONSTRAINT key PRIMARY KEY (id))")
    rows(session, "CREATE TABLE child (id BIGINT, CONSTRAINT ref FOREIGN KEY (id) REFERENCES parent)")
    yield session
    rows(session, "DROP TABLE child")
    rows(session, "DROP TABLE parent")


USES: list[tuple[tuple[str, ...], str, list[tuple[Any, ...]]]] = [
    (("INSERT INTO used SELECT column_name, 1 FROM {columns}",), "SELECT s FROM used", [("id",)]),
    (("CREATE OR REPLACE TABLE used USING {format} AS SELECT column_name AS s, 1 AS n FROM {columns}",),
     "SELECT s FROM used", [("id",)]),
    (("INSERT INTO used VALUES ('id', 1), ('x', 2)",
      "DELETE FROM used WHERE s IN (SELECT column_name FROM {columns})"), "SELECT s FROM used", [("x",)]),
    (("INSERT INTO used VALUES ('id', 1)", "UPDATE used SET n = (SELECT 5 + count(*) FROM {columns}) WHERE s = 'id'"),
     "SELECT * FROM used", [("id", 6)]),
    (("INSERT INTO used VALUES ('id', 1)",
      "MERGE INTO used USING (SELECT * FROM information_schema.columns WHERE table_name IN ('parent', 'seen')) x "
      "ON used.s = x.column_name WHEN MATCHED THEN UPDATE SET n = 7 "
      "WHEN NOT MATCHED THEN INSERT (s, n) VALUES (column_name, 8)"),
     "SELECT * FROM used ORDER BY s", [("id", 7), ("n", 8)]),
    (("INSERT OVERWRITE used SELECT table_name, 1 FROM information_schema.tables WHERE table_name = 'parent'",),
     "SELECT s FROM used", [("parent",)]),
    ((), "BEGIN DECLARE n BIGINT DEFAULT 0; FOR r AS SELECT column_name FROM {columns} DO SET n = n + 1; END FOR; "
         "SELECT n; END", [(1,)]),
    ((), "EXECUTE IMMEDIATE 'SELECT count(*) FROM information_schema.columns WHERE table_name = ?' USING 'parent'",
     [(1,)]),
    (("CREATE OR REPLACE FUNCTION width(t STRING) RETURNS BIGINT "
      "RETURN (SELECT count(*) FROM information_schema.columns WHERE table_name = t)",), "SELECT width('parent')",
     [(1,)]),
    (("DECLARE OR REPLACE w BIGINT", "SET VAR w = (SELECT count(*) FROM {columns})"), "SELECT w", [(1,)]),
]  # fmt: skip


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
@pytest.mark.parametrize(("texts", "query", "expected"), USES, ids=[(*texts, query)[-1] for texts, query, _ in USES])
def test_in_every_kind_of_statement(
    keyed: LakeSession, format_: str, texts: tuple[str, ...], query: str, expected: list[tuple[Any, ...]]
) -> None:
    columns = "information_schema.columns WHERE table_name = 'parent'"
    rows(keyed, f"CREATE OR REPLACE TABLE used (s STRING, n INT) USING {format_}")
    try:
        for text in texts:
            rows(keyed, text.format(columns=columns, format=format_))
        assert rows(keyed, query.format(columns=columns)) == expected
    finally:
        rows(keyed, "DROP TABLE used")


def test_a_plan_that_is_shown_names_the_relation(session: LakeSession, opened: list[str]) -> None:
    ((plan,),) = rows(session, "EXPLAIN SELECT * FROM information_schema.columns WHERE table_name = 'made'")
    assert "Scan `spark_catalog`.`information_schema`.`columns`" in plan and "deltagateway" not in plan
    assert opened == []
