"""Volumes: who may create, see, read, change and drop them, and that paths reach their files in no other way."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.changes import CreateView
from catalog.entries import ViewColumn, ViewEntry
from catalog.names import TableName
from engine.runtime.identity import Identity, Method, Scope
from tests.security.guarded_lake import GuardedLake

# A file that exists.
FILE = "/Volumes/spark_catalog/shop/files/in/a.csv"
# The answer to an allowed transfer for a client that has no URLs.
STAGED = "0A000"


@pytest.fixture
def lake(tmp_path: Path) -> GuardedLake:
    (tmp_path / "lake").mkdir()
    (tmp_path / "outside").mkdir()
    found = GuardedLake(tmp_path / "lake", allowed=(str(tmp_path / "outside"),))
    found.table("shop/t")
    found.do("root", "GRANT USE CATALOG ON CATALOG TO `account users`", "GRANT USE SCHEMA ON SCHEMA shop TO eve")
    found.do("root", "CREATE VOLUME shop.files COMMENT 'raw'")
    folder = volume_folder(found, "files")
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.csv").write_text("id\n1\n")
    return found


def volume_folder(lake: GuardedLake, name: str) -> Path:
    return Path(lake.rows("root", f"DESCRIBE VOLUME shop.{name}")[0][4])


def test_a_volume_is_created_shown_described_and_dropped(lake: GuardedLake) -> None:
    folder = volume_folder(lake, "files")
    assert folder.is_relative_to(lake.folder / "shop")
    described = ("files", "spark_catalog", "shop", "root", str(folder), "MANAGED", "raw")
    assert lake.rows("root", "DESCRIBE VOLUME shop.files") == [described]
    assert lake.rows("root", "SHOW VOLUMES IN shop") == [("shop", "files")]
    assert lake.rows("root", "SHOW VOLUMES IN shop LIKE 'x*'") == []
    assert lake.outcome("root", "CREATE VOLUME shop.files") == "42710"
    lake.do("root", "CREATE VOLUME IF NOT EXISTS shop.files", "COMMENT ON VOLUME shop.files IS 'new'")
    lake.do("root", "ALTER VOLUME shop.files RENAME TO renamed", "ALTER VOLUME shop.renamed OWNER TO ann")
    assert lake.rows("root", "DESCRIBE VOLUME shop.renamed")[0][3:] == ("ann", str(folder), "MANAGED", "new")
    assert lake.outcome("root", "ALTER VOLUME shop.renamed RENAME TO default.renamed") == "0AKD0"
    assert (folder / "in/a.csv").exists()
    lake.do("root", "DROP VOLUME shop.renamed", "DROP VOLUME IF EXISTS shop.renamed")
    assert not folder.exists()
    assert lake.outcome("root", "DROP VOLUME shop.renamed") == "42704"


def test_a_schema_with_a_volume_is_dropped_with_cascade_only(lake: GuardedLake) -> None:
    lake.do("root", "CREATE SCHEMA raw", "CREATE VOLUME raw.v")
    folder = Path(lake.rows("root", "DESCRIBE VOLUME raw.v")[0][4])
    folder.mkdir(parents=True)
    assert lake.outcome("root", "DROP SCHEMA raw") == "2BP01"
    lake.do("root", "DROP SCHEMA raw CASCADE")
    assert not folder.exists()
    assert ("raw",) not in lake.rows("root", "SHOW SCHEMAS")


def test_another_volume_of_the_name_begins_without_files_and_grants(lake: GuardedLake) -> None:
    lake.do("root", "GRANT READ VOLUME ON VOLUME shop.files TO eve")
    assert lake.rows("eve", "LIST '/Volumes/spark_catalog/shop/files'") != []
    old = volume_folder(lake, "files")
    lake.do("root", "DROP VOLUME shop.files", "CREATE VOLUME shop.files")
    assert volume_folder(lake, "files") != old
    assert lake.outcome("eve", "LIST '/Volumes/spark_catalog/shop/files'") == "42704"
    assert lake.rows("root", "LIST '/Volumes/spark_catalog/shop/files'") == []


RIGHTS = [
    ("LIST '/Volumes/spark_catalog/shop/files/in'", "READ VOLUME ON VOLUME shop.files", "R"),
    ("LIST '/Volumes/spark_catalog/shop/files/in'", "READ VOLUME ON SCHEMA shop", "R"),
    ("LIST '/Volumes/spark_catalog/shop/files/in'", "ALL PRIVILEGES ON VOLUME shop.files", "R"),
    (f"GET '{FILE}' TO '/tmp/a'", "READ VOLUME ON VOLUME shop.files", STAGED),
    (f"PUT '/tmp/a' INTO '{FILE}' OVERWRITE", "WRITE VOLUME ON VOLUME shop.files", STAGED),
    (f"REMOVE '{FILE}'", "WRITE VOLUME ON VOLUME shop.files", "R"),
    ("CREATE VOLUME shop.w", "CREATE VOLUME ON SCHEMA shop", "R"),
    ("DROP VOLUME shop.files", "MANAGE ON VOLUME shop.files", "R"),
    ("COMMENT ON VOLUME shop.files IS 'c'", "MANAGE ON VOLUME shop.files", "R"),
    ("GRANT READ VOLUME ON VOLUME shop.files TO ann", "MANAGE ON VOLUME shop.files", "R"),
]


@pytest.mark.parametrize(("statement", "grant", "allowed"), RIGHTS)
def test_statement_requires_its_privilege(lake: GuardedLake, statement: str, grant: str, allowed: str) -> None:
    is_visible = statement.startswith("CREATE")  # its schema is visible, the volume is not
    assert lake.outcome("eve", statement) == ("42501" if is_visible else "42704")
    lake.do("root", f"GRANT {grant} TO eve")
    assert lake.outcome("eve", statement) == allowed


def test_rename_requires_create_volume(lake: GuardedLake) -> None:
    rename = "ALTER VOLUME shop.files RENAME TO g"
    lake.do("root", "GRANT MANAGE ON VOLUME shop.files TO eve")
    assert lake.outcome("eve", rename) == "42501"
    lake.do("root", "GRANT CREATE VOLUME ON SCHEMA shop TO eve")
    assert lake.outcome("eve", rename) == "R"


@pytest.mark.parametrize(
    ("granted", "statement", "expected"),
    [
        ("READ VOLUME", f"REMOVE '{FILE}'", "42501"),
        ("READ VOLUME", f"PUT 'x' INTO '{FILE}' OVERWRITE", "42501"),
        ("WRITE VOLUME", f"GET '{FILE}' TO 'x'", "42501"),
        ("WRITE VOLUME", "LIST '/Volumes/spark_catalog/shop/files'", "42501"),
        ("MANAGE", f"GET '{FILE}' TO 'x'", "42501"),
        ("READ VOLUME", "DROP VOLUME shop.files", "42501"),
        ("READ VOLUME", "DESCRIBE VOLUME shop.files", "R"),
    ],
)
def test_volume_privileges_are_independent(lake: GuardedLake, granted: str, statement: str, expected: str) -> None:
    lake.do("root", f"GRANT {granted} ON VOLUME shop.files TO eve")
    assert lake.outcome("eve", statement) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"GET '{FILE}' TO 'x'", STAGED),
        ("LIST '/Volumes/spark_catalog/shop/files'", "R"),
        (f"PUT 'x' INTO '{FILE}' OVERWRITE", "42501"),
        (f"REMOVE '{FILE}'", "42501"),
        ("DROP VOLUME shop.files", "42501"),
    ],
)
def test_a_token_for_reading_changes_no_file(lake: GuardedLake, statement: str, expected: str) -> None:
    identity = Identity("root", is_admin=True, method=Method.TOKEN, scopes=frozenset({Scope.READ_ONLY}))
    assert lake.outcome(identity, statement) == expected


def test_volumes_are_there_after_a_restart(lake: GuardedLake) -> None:
    lake.do("root", "GRANT READ VOLUME ON VOLUME shop.files TO eve")
    again = GuardedLake(lake.folder)
    assert again.rows("eve", "SHOW VOLUMES IN shop") == [("shop", "files")]
    assert again.rows("root", "DESCRIBE VOLUME shop.files") == lake.rows("root", "DESCRIBE VOLUME shop.files")
    again.do("root", "DROP VOLUME shop.files")
    assert GuardedLake(lake.folder).rows("root", "SHOW VOLUMES IN shop") == []


def test_containers_require_use_privileges(lake: GuardedLake) -> None:
    lake.do("root", "GRANT READ VOLUME ON VOLUME shop.files TO bob")
    assert lake.outcome("bob", "LIST '/Volumes/spark_catalog/shop/files'") == "42501"
    lake.do("root", "GRANT USE SCHEMA ON SCHEMA shop TO bob")
    assert lake.outcome("bob", "LIST '/Volumes/spark_catalog/shop/files'") == "R"


def test_lists_show_visible_volumes_only(lake: GuardedLake) -> None:
    lake.do("root", "CREATE VOLUME shop.secret", "GRANT READ VOLUME ON VOLUME shop.files TO eve")
    assert lake.rows("eve", "SHOW VOLUMES IN shop") == [("shop", "files")]
    assert lake.outcome("eve", "DESCRIBE VOLUME shop.secret") == "42704"
    assert lake.rows("eve", "DESCRIBE VOLUME shop.files")[0][4] is None
    assert lake.rows("root", "SHOW VOLUMES IN shop") == [("shop", "files"), ("shop", "secret")]
    assert lake.rows("eve", "SHOW GRANTS ON VOLUME shop.files") == [
        ("eve", "READ VOLUME", "VOLUME", "spark_catalog.shop.files")
    ]


PATHS = [
    ("/Volumes/spark_catalog/shop/files/../other", "22023"),
    ("/Volumes/spark_catalog/shop/files/%2e%2e/other", "22023"),
    ("/Volumes/spark_catalog/shop/files/%252e%252E/other", "22023"),
    ("/Volumes/spark_catalog/shop/files/a%2fb", "22023"),
    ("/Volumes/spark_catalog/shop/files/a\\\\b", "22023"),
    ("/Volumes/spark_catalog/shop/files/in//a.csv", "22023"),
    ("/Volumes/spark_catalog/shop", "22023"),
    ("/Volumes", "22023"),
    ("/elsewhere/a.csv", "22023"),
    ("/Volumes/nowhere/shop/files/a.csv", "42704"),
    ("/Volumes/spark_catalog/nowhere/files/a.csv", "42704"),
    ("/Volumes/spark_catalog/shop/nowhere/a.csv", "42704"),
    ("/Volumes/spark_catalog/shop/files/in/link", "42501"),
    ("/Volumes/spark_catalog/shop/files/linked/secret.csv", "42501"),
    ("/Volumes/spark_catalog/shop/files/none.csv", "42K03"),
    ("/Volumes/spark_catalog/shop/files/in/a.csv/b", "42501"),
    ("/Volumes/spark_catalog/shop/files/in", "2BP01"),
    ("/Volumes/spark_catalog/shop/files/empty", "R"),
    ("/Volumes/spark_catalog/shop/files", "42K03"),
    ("dbfs:/Volumes/spark_catalog/shop/files/in/a.csv", "R"),
    ("/Volumes/SPARK_CATALOG/Shop/FILES/in/a.csv", "R"),
    (FILE, "R"),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_a_path_stays_in_its_volume(lake: GuardedLake, path: str, expected: str) -> None:
    folder = volume_folder(lake, "files")
    secret = lake.folder.parent / "secret.csv"
    secret.write_text("x")
    (folder / "in" / "link").symlink_to(secret)
    (folder / "linked").symlink_to(lake.folder.parent)
    (folder / "empty").mkdir()
    assert lake.outcome("root", f"REMOVE '{path}'") == expected
    assert secret.read_text() == "x"


def test_a_list_has_files_and_folders(lake: GuardedLake) -> None:
    rows = lake.rows("root", "LIST '/Volumes/spark_catalog/shop/files/'")
    assert [row[:3] for row in rows] == [("/Volumes/spark_catalog/shop/files/in/", "in/", 0)]
    for path in ("/Volumes/spark_catalog/shop/files/in", FILE):
        (row,) = lake.rows("root", f"LIST '{path}'")
        assert row[:3] == (FILE, "a.csv", 5)
    assert lake.outcome("root", "LIST '/Volumes/spark_catalog/shop/files/none'") == "42K03"


def test_external_volumes_require_external_location(lake: GuardedLake) -> None:
    outside = lake.folder.parent / "outside"
    (outside / "raw").mkdir()
    create = f"CREATE EXTERNAL VOLUME shop.ext LOCATION '{outside}/raw'"
    lake.do("root", f"CREATE EXTERNAL LOCATION o URL '{outside}'", "GRANT CREATE VOLUME ON SCHEMA shop TO eve")
    assert lake.outcome("eve", create) == "42501"
    lake.do("root", "GRANT READ FILES, CREATE EXTERNAL TABLE ON EXTERNAL LOCATION o TO eve")
    assert lake.outcome("eve", create) == "42501"
    lake.do("root", "GRANT CREATE EXTERNAL VOLUME ON EXTERNAL LOCATION o TO eve")
    assert lake.outcome("eve", create) == "R"
    (outside / "raw" / "a.csv").write_text("1")
    lake.do("eve", "DROP VOLUME shop.ext")
    assert (outside / "raw" / "a.csv").exists()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE EXTERNAL VOLUME shop.two LOCATION '{outside}/raw/in'", "22KD1"),
        ("CREATE EXTERNAL VOLUME shop.two LOCATION '{outside}'", "22KD1"),
        ("CREATE EXTERNAL VOLUME shop.two LOCATION '{lake}/shop/t'", "42501"),
        ("CREATE EXTERNAL VOLUME shop.two LOCATION '{managed}/in'", "22KD1"),
        ("CREATE EXTERNAL VOLUME shop.two LOCATION '{outside}/raw2'", "R"),
        ("CREATE EXTERNAL VOLUME shop.two LOCATION '/etc'", "42501"),
        ("CREATE EXTERNAL VOLUME shop.two", "42601"),
        ("CREATE VOLUME shop.two LOCATION '{outside}/raw2'", "42601"),
        ("CREATE TABLE shop.u (id INT) LOCATION '{outside}/raw/u'", "22KD1"),
        ("CREATE TABLE shop.u (id INT) LOCATION '{outside}'", "22KD1"),
        ("CREATE TABLE shop.u (id INT) LOCATION '{managed}/u'", "22KD1"),
        ("CREATE SCHEMA other LOCATION '{managed}/u'", "22KD1"),
        ("CREATE EXTERNAL LOCATION m URL '{managed}'", "22KD1"),
        ("SELECT * FROM delta.`{managed}/in`", "22KD1"),
        ("SELECT * FROM delta.`{outside}/raw/in`", "22KD1"),
        ("COPY INTO shop.t FROM '{managed}/in' FILEFORMAT = CSV", "22KD1"),
        ("COPY INTO shop.t FROM '{outside}/raw' FILEFORMAT = CSV", "22KD1"),
        ("COPY INTO shop.t FROM '{outside}' FILEFORMAT = CSV", "22KD1"),
    ],
)
def test_a_place_in_a_volume_is_reached_by_its_volume_only(lake: GuardedLake, statement: str, expected: str) -> None:
    outside = lake.folder.parent / "outside"
    (outside / "raw").mkdir()
    lake.do("root", f"CREATE EXTERNAL LOCATION o URL '{outside}'")
    lake.do("root", f"CREATE EXTERNAL VOLUME shop.ext LOCATION '{outside}/raw'")
    places = {"outside": outside, "lake": lake.folder, "managed": volume_folder(lake, "files")}
    assert lake.outcome("root", statement.format(**places)) == expected


def test_invisible_volume_is_not_revealed_by_its_path(lake: GuardedLake) -> None:
    outside = lake.folder.parent / "outside"
    for name in ("raw", "empty"):
        (outside / name).mkdir()
    lake.do("root", f"CREATE EXTERNAL LOCATION o URL '{outside}'")
    lake.do("root", f"CREATE EXTERNAL VOLUME shop.ext LOCATION '{outside}/raw'")
    lake.do("root", "GRANT SELECT, MODIFY ON TABLE shop.t TO eve")
    copies = [f"COPY INTO shop.t FROM '{outside}/{name}' FILEFORMAT = CSV" for name in ("raw", "empty")]
    first, second = (lake.error("eve", text) for text in copies)
    assert first is not None and second is not None
    assert str(first).replace("/raw", "/empty") == str(second)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("GRANT READ VOLUME ON TABLE shop.t TO eve", "0LP01"),
        ("GRANT SELECT ON VOLUME shop.files TO eve", "0LP01"),
        ("GRANT CREATE VOLUME ON VOLUME shop.files TO eve", "0LP01"),
        ("GRANT READ VOLUME ON VOLUME shop.none TO eve", "42704"),
        ("PUT '' INTO '/Volumes/spark_catalog/shop/files/a'", "22023"),
        (f"PUT 'a' INTO '{FILE}'", "42710"),
        ("PUT 'a' INTO '/Volumes/spark_catalog/shop/files/new'", STAGED),
        ("LIST FILE", "0A000"),
        ("ALTER VOLUME shop.files SET TAGS ('a' = 'b')", "0A000"),
    ],
)
def test_impossible_volume_statements_are_reported(lake: GuardedLake, statement: str, expected: str) -> None:
    assert lake.outcome("root", statement) == expected


IN = "/Volumes/spark_catalog/shop/files/in"
READS = [
    f"COPY INTO shop.t FROM '{IN}' FILEFORMAT = CSV",
    f"COPY INTO shop.t FROM '{FILE}' FILEFORMAT = CSV",
    f"COPY INTO shop.t FROM (SELECT _c0 AS id FROM '{IN}') FILEFORMAT = CSV",
    f"SELECT * FROM csv.`{IN}`",
    f"SELECT * FROM CSV.`dbfs:{FILE}`",
    f"INSERT INTO shop.t (id) SELECT CAST(_c0 AS INT) FROM csv.`{FILE}`",
    f"CREATE TEMPORARY VIEW w AS SELECT * FROM csv.`{IN}`",
]


@pytest.mark.parametrize("statement", READS)
def test_reading_volume_files_requires_only_read_volume(lake: GuardedLake, statement: str) -> None:
    lake.do("root", "GRANT SELECT, MODIFY ON TABLE shop.t TO eve")
    assert lake.outcome("eve", statement) == "42704"
    for other in ("WRITE VOLUME", "MANAGE"):
        lake.do("root", f"GRANT {other} ON VOLUME shop.files TO eve")
        assert lake.outcome("eve", statement) == "42501"
    lake.do("root", "GRANT READ VOLUME ON VOLUME shop.files TO eve")
    assert lake.outcome("eve", statement) == "R"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{IN}/..", "22023"),
        (f"{IN}/%2e%2e/in", "22023"),
        (f"{IN}/link", "42501"),
        (f"{IN}/../../linked/secret.csv", "22023"),
        ("/Volumes/spark_catalog/shop/files/linked", "42501"),
        ("/Volumes/spark_catalog/shop/files/linked/secret.csv", "42501"),
        ("/Volumes/spark_catalog/shop/files/none", "42K03"),
        ("/Volumes/spark_catalog/shop/none/in", "42704"),
        ("/Volumes/spark_catalog/shop", "22023"),
        (IN, "R"),
    ],
)
def test_files_are_read_below_the_folder_of_their_volume(lake: GuardedLake, path: str, expected: str) -> None:
    folder = volume_folder(lake, "files")
    secret = lake.folder.parent / "secret.csv"
    secret.write_text("x")
    (folder / "in" / "link").symlink_to(secret)
    (folder / "linked").symlink_to(lake.folder.parent)
    lake.do("root", "GRANT SELECT, MODIFY ON TABLE shop.t TO root")
    assert lake.outcome("root", f"SELECT * FROM csv.`{path}`") == expected
    assert lake.outcome("root", f"COPY INTO shop.t FROM '{path}' FILEFORMAT = CSV") == expected


def test_unreadable_volume_is_not_revealed(lake: GuardedLake) -> None:
    lake.do("root", "GRANT WRITE VOLUME ON VOLUME shop.files TO eve", "GRANT SELECT, MODIFY ON TABLE shop.t TO eve")
    for text in ("SELECT * FROM csv.`{}`", "COPY INTO shop.t FROM '{}' FILEFORMAT = CSV"):
        there, none = (str(lake.error("eve", text.format(path))) for path in (IN, f"{IN}/none"))
        assert there == none and "READ VOLUME" in there


def test_a_view_reads_files_as_its_owner(lake: GuardedLake) -> None:
    lake.do("root", "GRANT CREATE TABLE ON SCHEMA shop TO eve", "GRANT USE SCHEMA ON SCHEMA shop TO bob")
    assert lake.outcome("eve", f"CREATE VIEW shop.w AS SELECT * FROM csv.`{IN}`") == "42704"
    record_view(lake, "eve")
    lake.do("root", "GRANT SELECT ON VIEW shop.w TO bob")
    assert lake.outcome("bob", "SELECT * FROM shop.w") == "42501"
    lake.do("root", "GRANT READ VOLUME ON VOLUME shop.files TO eve")
    assert lake.outcome("bob", "SELECT * FROM shop.w") == "R"
    assert lake.outcome("bob", f"SELECT * FROM csv.`{IN}`") == "42704"


def record_view(lake: GuardedLake, owner: str) -> None:
    """Records a view with columns as Spark would return them."""
    name = TableName("spark_catalog", "shop", "w")
    columns = (ViewColumn(name="_c0", source="_c0", type="string"),)
    entry = ViewEntry(
        name=name, text=f"SELECT * FROM csv.`{IN}`", current=name.schema_name, columns=columns, owner=owner
    )
    lake.sources.catalog.change(CreateView(entry))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"INSERT INTO csv.`{IN}` VALUES (1)", "0A000"),
        (f"SELECT * FROM csv.`{IN}` VERSION AS OF 1", "0A000"),
        (f"SELECT * FROM avro.`{IN}`", "0A000"),
        (f"SELECT * FROM delta.`{IN}`", "42501"),
        (f"CREATE TABLE shop.u (id INT) LOCATION '{IN}'", "42501"),
        (f"SELECT * FROM read_files('{IN}')", "0A000"),
        (f"SELECT read_files('{IN}')", "0A000"),
    ],
)
def test_other_uses_of_paths_in_volumes_are_refused(lake: GuardedLake, statement: str, expected: str) -> None:
    assert lake.outcome("root", statement) == expected
