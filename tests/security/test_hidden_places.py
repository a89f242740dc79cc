"""File names and positions in the tables of views and functions: empty for readers without SELECT on the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

pytestmark = pytest.mark.spark

VIEWS = {
    "plain": "SELECT * FROM shop.t",
    "placed": "SELECT id, input_file_name() AS f, input_file_block_start() AS s, input_file_block_length() AS l,"
    " _metadata.file_path AS p, _metadata.file_name AS n, _metadata.file_size AS z, _metadata.row_index AS r,"
    " _metadata.file_modification_time AS m, _metadata AS a FROM shop.t",
    "made": "SELECT id, upper(f) AS u, concat(a.file_name, ssn) AS c, length(p) AS d FROM"
    " (SELECT *, input_file_name() AS f, _metadata.file_path AS p, _metadata AS a FROM shop.t)",
    "counted": "SELECT f, count(*) AS n FROM (SELECT input_file_name() AS f FROM shop.t) GROUP BY f",
    "unioned": "WITH q AS (SELECT _metadata.file_path AS f FROM shop.t) SELECT f FROM q"
    " UNION ALL SELECT ssn FROM shop.t",
    "last": "SELECT (SELECT max(f) FROM (SELECT input_file_name() AS f FROM shop.t)) AS f, ssn FROM shop.t",
    "chosen": "SELECT id FROM (SELECT id, input_file_name() AS f FROM shop.t WHERE _metadata.file_name LIKE 'part%')"
    " WHERE f LIKE '%part%' AND f <> ''",
    "over": "SELECT f, count(*) AS n, min(n) AS o FROM shop.placed GROUP BY f",
    "by_path": "SELECT _metadata.file_path AS f FROM delta.`{lake}/shop/t`",
    "outer_names": "SELECT id, input_file_name() AS f FROM shop.plain",
    "iceberg": "SELECT _file AS f, _pos AS p, _partition.part AS part FROM shop.ice",
    "files": "SELECT file_path AS f, record_count AS n FROM shop.ice.files",
    "all_files": "SELECT * FROM shop.ice.all_data_files",
    "entries": "SELECT status, data_file.record_count AS n, data_file.file_path AS f, data_file AS d,"
    " struct(data_file.content) AS c FROM shop.ice.entries",
    "manifests": "SELECT path AS f, added_data_files_count AS n FROM shop.ice.manifests",
    "snapshots": "SELECT manifest_list AS f, operation AS o FROM shop.ice.snapshots",
    "metadata_log": "SELECT file AS f, latest_sequence_number AS n FROM shop.ice.metadata_log_entries",
    "deletes": "SELECT file_path AS f, delete_file_path AS d, pos AS p FROM shop.ice.position_deletes",
    "joined": "SELECT f.record_count AS n, count(d.pos) AS deleted, max(d.file_path) AS f FROM shop.ice.data_files AS f"
    " LEFT JOIN shop.ice.position_deletes AS d ON d.file_path = f.file_path GROUP BY 1",
    "chosen_files": "SELECT record_count AS n FROM shop.ice.files WHERE file_path LIKE '%.parquet' AND content = 0",
    "called": "SELECT id, shop.named() AS f FROM shop.t",
    "listed": "SELECT f, p FROM shop.files()",
    "compared": "SELECT id FROM shop.t WHERE _metadata.file_path = shop.path()",
}  # fmt: skip
NAMES = "(SELECT max(f) FROM (SELECT input_file_name() AS f, id FROM {}))"
FUNCTIONS = {
    "named()": f"STRING RETURN {NAMES.format('shop.t')}",
    "path()": "STRING RETURN (SELECT max(t._metadata.file_path) FROM shop.t)",
    "start()": "BIGINT RETURN (SELECT max(s) FROM (SELECT input_file_block_start() AS s FROM shop.t))",
    "above(n INT)": f"STRING RETURN {NAMES.format('shop.t')[:-1]} WHERE id >= n)",
    "over_view()": f"STRING RETURN {NAMES.format('shop.plain')}",
    "of_iceberg()": "STRING RETURN (SELECT max(ice._file) FROM shop.ice)",
    "of_files()": "STRING RETURN (SELECT max(file_path) FROM shop.ice.files)",
    "of_manifests()": "STRING RETURN (SELECT max(m.path) FROM shop.ice.manifests AS m)",
    "nested()": "STRING RETURN concat('in ', shop.named())",
    "of_row()": "STRING RETURN input_file_name()",
    "data_files()": "TABLE RETURN SELECT file_path AS f, record_count AS n FROM shop.ice.`data_files`",
    "files()": "TABLE RETURN SELECT id, input_file_name() AS f, _metadata.file_path AS p FROM shop.t",
    "near(n INT)": "TABLE RETURN SELECT id, _metadata.file_path AS p FROM shop.t WHERE id > n - 100",
    "masked(s STRING)": "STRING RETURN (SELECT max(t._metadata.file_path) FROM shop.t)",
    "kept(id INT)": "BOOLEAN RETURN (SELECT max(t._metadata.file_path) FROM shop.t) LIKE '%parquet'",
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[People]:
    """Yields sessions where eve may read the views and a table of her own, and bob the views' table as well."""
    folder = tmp_path_factory.mktemp("places") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    for name in ("t", "own"):
        lake.table(f"shop/{name}")
    found = People(lake, spark_driver)
    for text in (
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT ALL PRIVILEGES ON CATALOG TO root",
        "GRANT SELECT ON shop.own TO eve",
        "GRANT SELECT ON shop.t TO bob",
        "CREATE TABLE shop.ice (id INT, part INT) USING iceberg PARTITIONED BY (part)"
        " TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')",
        "INSERT INTO shop.ice VALUES (1, 5), (2, 5), (3, 5)",
        "DELETE FROM shop.ice WHERE id = 2",
        "GRANT SELECT ON shop.ice TO bob",
        f"CREATE VIEW shop.plain AS {VIEWS['plain']}",
        *(f"CREATE FUNCTION shop.{name} RETURNS {text}" for name, text in FUNCTIONS.items()),
        *(f"GRANT EXECUTE ON FUNCTION shop.{name.partition('(')[0]} TO `account users`" for name in FUNCTIONS),
        "CREATE TABLE shop.policed (id INT, s STRING)",
        "INSERT INTO shop.policed VALUES (1, 'a')",
        "ALTER TABLE shop.policed ALTER COLUMN s SET MASK shop.masked",
        "ALTER TABLE shop.policed SET ROW FILTER shop.kept ON (id)",
        "GRANT SELECT ON shop.policed TO `account users`",
        *(f"CREATE OR REPLACE VIEW shop.{name} AS {text.format(lake=folder)}" for name, text in VIEWS.items()),
        *(f"GRANT SELECT ON shop.{name} TO `account users`" for name in VIEWS),
    ):
        found.rows("root", text)
    yield found
    found.close()


def shows_place(rows: Any) -> bool:
    """Returns if rows reveal files."""
    return any(word in str(rows).lower() for word in (".parquet", ".avro", ".metadata.json", "shop/t", "728"))


QUERIES = [
    ("SELECT input_file_name(), input_file_block_start(), input_file_block_length() FROM shop.plain", ("", -1, -1)),
    ("SELECT input_file_name() FROM (SELECT id FROM shop.plain LIMIT 1)", ("",)),
    ("WITH q AS (SELECT * FROM shop.plain) SELECT upper(input_file_name()) FROM q", ("",)),
    ("SELECT f FROM (SELECT input_file_name() AS f FROM shop.plain) WHERE f = ''", ("",)),
    ("SELECT max(f) FROM (SELECT input_file_name() AS f FROM shop.plain)", ("",)),
    ("SELECT (SELECT max(f) FROM (SELECT input_file_name() AS f FROM shop.plain))", ("",)),
    ("SELECT f, s, l, p, n, z, r, m, a FROM shop.placed", (None,) * 9),
    ("SELECT a.file_path, a.file_name FROM shop.placed", (None, None)),
    ("SELECT u, c, d FROM shop.made", (None, None, None)),
    ("SELECT f, n FROM shop.counted", (None, 1)),
    ("SELECT f FROM shop.unioned", (None,)),
    ("SELECT f FROM shop.by_path", (None,)),
    ("SELECT f, ssn FROM shop.last", (None, "x")),
    ("SELECT f, n, o FROM shop.over", (None, 1, None)),
    ("SELECT f FROM shop.outer_names", (None,)),
    ("SELECT input_file_name() FROM shop.outer_names", ("",)),
    ("SELECT EXISTS (SELECT 1 FROM shop.placed WHERE f IS NOT NULL)", (False,)),
    ("SELECT f, p, part FROM shop.iceberg", (None, None, 5)),
    ("SELECT n, f FROM shop.files WHERE n = 3", (3, None)),
    ("SELECT record_count, file_path, referenced_data_file, content FROM shop.all_files", (3, None, None, 0)),
    ("SELECT n, f, d, c.content FROM shop.entries WHERE n = 3", (3, None, None, 0)),
    ("SELECT f, n FROM shop.manifests WHERE n = 1", (None, 1)),
    ("SELECT f FROM shop.snapshots", (None,)),
    ("SELECT f FROM shop.metadata_log", (None,)),
    ("SELECT f, d, p FROM shop.deletes", (None, None, 1)),
    ("SELECT n, deleted, f FROM shop.joined", (3, 1, None)),
    ("SELECT f, n FROM shop.data_files()", (None, 3)),
    ("SELECT shop.of_files(), shop.of_manifests()", (None, None)),
    ("SELECT f FROM shop.called", (None,)),
    ("SELECT f, p FROM shop.listed", (None, None)),
    ("SELECT shop.named(), shop.path(), shop.start(), shop.above(0)", (None,) * 4),
    ("SELECT shop.over_view(), shop.of_iceberg(), shop.nested()", (None,) * 3),
    ("SELECT upper(concat(shop.named(), id)) FROM VALUES (1), (2) AS v(id)", (None,)),
    ("SELECT coalesce(shop.above(CAST(id AS INT)), 'none') FROM shop.plain", ("none",)),
    ("SELECT shop.of_row() FROM shop.plain", ("",)),
    ("SELECT f, p, input_file_name() FROM shop.files()", (None, None, "")),
    ("SELECT n.p, input_file_name() FROM shop.plain, LATERAL shop.near(CAST(plain.id AS INT)) AS n", (None, "")),
    (
        "SELECT x.f FROM (SELECT id, input_file_name() AS f FROM shop.plain) AS x,"
        " LATERAL shop.near(CAST(x.id AS INT))",
        ("",),
    ),
    (
        "SELECT x.f FROM (SELECT id, input_file_name() AS f FROM shop.plain) AS x"
        " LEFT JOIN LATERAL shop.near(CAST(x.id AS INT))",
        ("",),
    ),
    ("SELECT id, s FROM shop.policed", (1, None)),
]


@pytest.mark.parametrize(("text", "row"), QUERIES)
def test_locations_are_hidden_without_select(people: People, text: str, row: tuple[Any, ...]) -> None:
    found = people.rows("eve", text)
    assert set(found) == {row}
    allowed = people.rows("bob", text)
    assert shows_place(allowed) or allowed == [(True,)] or "f = ''" in text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SELECT count(*) FROM shop.plain WHERE input_file_name() LIKE '%t%'", 0),
        ("SELECT count(*) FROM shop.plain WHERE input_file_block_start() >= 0", 0),
        ("SELECT count(*) FROM shop.placed WHERE p IS NOT NULL OR f <> ''", 0),
        ("SELECT count(*) FROM shop.chosen", 2),
        ("SELECT count(*) FROM shop.counted", 2),
        ("SELECT count(*) FROM shop.over", 2),
        ("SELECT count(*) * 2 FROM shop.chosen_files WHERE n = 3", 2),
        ("SELECT count(*) FROM shop.files() WHERE f <> '' OR p IS NOT NULL", 0),
    ],
)
def test_conditions_of_the_view_see_them_and_those_of_its_reader_do_not(people: People, text: str, count: int) -> None:
    assert people.rows("eve", text) == [(count,)]
    assert people.rows("bob", text) == [(2,)]


def test_view_and_row_filter_compare_files_of_function_as_their_owner(people: People) -> None:
    for who in ("root", "bob", "eve"):
        assert people.rows(who, "SELECT count(*) FROM shop.compared") == [(1,)]
        assert people.rows(who, "SELECT count(*) FROM shop.policed") == [(1,)]


def test_owner_of_function_sees_the_files(people: People) -> None:
    text = "SELECT shop.named(), shop.path(), shop.of_iceberg(), shop.nested(), shop.above(0)"
    assert all(".parquet" in value for value in people.rows("root", text)[0])
    assert all(".parquet" in value for row in people.rows("root", "SELECT f, p FROM shop.files()") for value in row)


def test_function_is_hidden_in_objects_of_the_reader(people: People) -> None:
    people.rows("root", "GRANT CREATE FUNCTION, CREATE TABLE ON SCHEMA shop TO `account users`")
    for who, is_shown in (("eve", False), ("bob", True)):
        for text in (
            "CREATE TEMPORARY FUNCTION mine() RETURNS STRING RETURN shop.named()",
            "CREATE TEMPORARY VIEW mine AS SELECT shop.named() AS f",
            "CREATE GLOBAL TEMPORARY VIEW mine AS SELECT shop.named() AS f",
            f"CREATE FUNCTION shop.by_{who}() RETURNS STRING RETURN shop.named()",
            f"CREATE FUNCTION shop.rows_by_{who}() RETURNS TABLE RETURN SELECT shop.named() AS f",
            f"CREATE VIEW shop.view_by_{who} AS SELECT shop.named() AS f",
            f"CREATE TABLE shop.made_by_{who} AS SELECT shop.named() AS f",
            "DECLARE v STRING",
            "SET VAR v = shop.named()",
        ):
            people.rows(who, text)
        for query in (
            "SELECT mine()",
            "SELECT f FROM mine",
            "SELECT f FROM global_temp.mine",
            f"SELECT shop.by_{who}()",
            f"SELECT f FROM shop.rows_by_{who}()",
            f"SELECT f FROM shop.view_by_{who}",
            f"SELECT f FROM shop.made_by_{who}",
            "SELECT v",
            "EXECUTE IMMEDIATE 'SELECT shop.named()'",
        ):
            assert [value is not None and ".parquet" in value for (value,) in people.rows(who, query)] == [is_shown]


def test_places_of_tables_that_may_be_read_stay(people: People) -> None:
    assert ".parquet" in str(people.rows("eve", "SELECT input_file_name(), _metadata.file_path FROM shop.own"))
    text = "SELECT input_file_name() FROM shop.plain UNION ALL SELECT input_file_name() FROM shop.own"
    assert sorted(len(name) > 0 for (name,) in people.rows("eve", text)) == [False, False, True, True]


def test_a_temporary_view_is_the_reader_s_own_text(people: People) -> None:
    for who, is_reported in (("eve", False), ("bob", True)):
        people.rows(who, "CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT input_file_name() AS g, p FROM shop.placed")
        assert shows_place(people.rows(who, "SELECT g, p FROM mine")) is is_reported


def test_rows_that_are_written_have_no_places(people: People) -> None:
    people.rows("root", "GRANT CREATE TABLE ON SCHEMA shop TO `account users`")
    for who, is_reported in (("eve", False), ("bob", True)):
        people.rows(who, f"CREATE TABLE shop.of_{who} AS SELECT input_file_name() AS g, f, p FROM shop.placed")
        assert shows_place(people.rows(who, f"SELECT g, f, p FROM shop.of_{who}")) is is_reported


def test_places_come_with_the_right_to_read(people: People) -> None:
    text = "SELECT input_file_name(), p FROM shop.placed"
    assert not shows_place(people.rows("mal", text))
    people.rows("root", "GRANT SELECT ON shop.t TO mal")
    assert shows_place(people.rows("mal", text))
    people.rows("root", "REVOKE SELECT ON shop.t FROM mal")
    assert not shows_place(people.rows("mal", text))
