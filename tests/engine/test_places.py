"""Table locations: below the allowed roots, outside other tables; nothing is written before that is checked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import refuse, rows, run

pytestmark = pytest.mark.spark

BAD_NAME, OVERLAP, NOT_ALLOWED = "INVALID_SCHEMA_OR_RELATION_NAME", "LOCATION_OVERLAP", "PATH_NOT_ALLOWED"


@pytest.fixture(scope="module")
def area(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder around the lake, with another allowed folder and one that is not."""
    root = tmp_path_factory.mktemp("an area")
    for name in ("lake", "more", "outside"):
        (root / name).mkdir()
    return root


@pytest.fixture(scope="module")
def lake(area: Path) -> Path:
    return area / "lake"


@pytest.fixture(scope="module")
def engine(area: Path, spark_driver: SparkDriver) -> LakeEngine:
    options = EngineOptions(
        lake_folder=str(area / "lake"),
        catalog_folder=str(area / "lake/.catalog"),
        allowed_roots=(str(area / "more"),),
    )
    return LakeEngine(open_sources(options), spark_driver)


@pytest.fixture
def session(engine: LakeEngine, area: Path) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    if not (area / "lake/default/base").exists():
        run(opened, "CREATE TABLE base (a INT) TBLPROPERTIES ('by' = 'test')")
        run(opened, "INSERT INTO base VALUES (1)")
        run(opened, "CREATE SCHEMA s")
        run(opened, "CREATE TABLE s.t (a INT)")
        os.symlink("../outside", area / "lake/linked")
        os.symlink("../../outside", area / "lake/default/out")
    yield opened
    opened.close()


def everything(root: Path) -> list[str]:
    """Returns all files except the catalog's change log and the checksums that follow a commit later."""
    files = (path for path in root.rglob("*") if ".catalog" not in path.parts and path.suffix not in (".crc", ".tmp"))
    return sorted(str(path.relative_to(root)) for path in files)


FORMS = [
    "CREATE TABLE {} (a INT)",
    "CREATE TABLE IF NOT EXISTS {} (a INT)",
    "CREATE TABLE {} AS SELECT 1 AS a",
    "CREATE TABLE IF NOT EXISTS {} AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE {} (a INT)",
    "CREATE OR REPLACE TABLE {} AS SELECT 1 AS a",
    "CREATE TABLE {} LIKE base",
    "CREATE TABLE {} (a INT, b INT) USING delta PARTITIONED BY (b)",
]
NAMES = [
    "../../x/y",
    "../up",
    "..",
    ".",
    "",
    "/etc/x",
    "a/b",
    "..\\x",
    "a\x01b",
    "a\nb",
    "x" * 256,
    "ä" * 128,
    "%2e%2e",
]
NAMES += ["a%2Fb", "_delta_log", "_DELTA_LOG", ".hidden", ".catalog"]


@pytest.mark.parametrize("form", FORMS)
def test_names_that_are_no_folders_are_refused_and_nothing_is_written(
    session: LakeSession, area: Path, form: str
) -> None:
    before = everything(area)
    for name in NAMES:
        for dotted in (f"`{name}`", f"spark_catalog.s.`{name}`"):
            assert refuse(session, form.format(dotted)).condition == BAD_NAME, dotted
    assert everything(area) == before


@pytest.mark.parametrize(
    "form",
    [
        "CREATE SCHEMA {}",
        "CREATE SCHEMA IF NOT EXISTS {}",
        "CREATE SCHEMA {} LOCATION '{{more}}/s'",
        "CREATE CATALOG {}",
        "CREATE VIEW {} AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW {} AS SELECT 1 AS a",
        "CREATE TEMPORARY VIEW {} AS SELECT 1 AS a",
        "ALTER TABLE base RENAME TO {}",
    ],
)
def test_so_are_names_of_other_objects(session: LakeSession, area: Path, form: str) -> None:
    before = everything(area)
    for name in NAMES:
        assert refuse(session, form.format(f"`{name}`").format(more=area / "more")).condition == BAD_NAME, name
    assert everything(area) == before


@pytest.mark.parametrize("name", [name for name in NAMES if name])
def test_names_that_nothing_has_are_not_found(session: LakeSession, name: str) -> None:
    for text in (
        "SELECT * FROM `{}`",
        "DESCRIBE TABLE `{}`",
        "DROP TABLE spark_catalog.s.`{}`",
        "INSERT INTO `{}` VALUES (1)",
    ):
        assert refuse(session, text.format(name)).condition == "TABLE_OR_VIEW_NOT_FOUND", text
    run(session, f"DROP TABLE IF EXISTS `{name}`")
    for text in ("USE `{}`", "SHOW TABLES IN `{}`", "CREATE TABLE `{}`.t (a INT)", "DROP SCHEMA `{}`"):
        assert refuse(session, text.format(name)).condition == "SCHEMA_NOT_FOUND", text


LOCATIONS = [
    ("/etc/x", NOT_ALLOWED),
    ("{area}/outside/t", NOT_ALLOWED),
    ("{lake}/../outside/t", NOT_ALLOWED),
    ("{lake}/linked/t", NOT_ALLOWED),
    ("{lake}/default/out", NOT_ALLOWED),
    ("relative", NOT_ALLOWED),
    ("http://127.0.0.1/t", NOT_ALLOWED),
    ("file://elsewhere{lake}/t", NOT_ALLOWED),
    ("{lake}", OVERLAP),
    ("{lake}/default", OVERLAP),
    ("{lake}/default/base/inner", OVERLAP),
    ("{lake}/default/base/_delta_log/t", OVERLAP),
    ("file:{lake}/s/./t/../t/deep/er", OVERLAP),
    ("{lake}/.catalog/t", OVERLAP),
]


@pytest.mark.parametrize(("location", "condition"), LOCATIONS)
def test_places_are_looked_at_before_anything_is_written(
    session: LakeSession, area: Path, location: str, condition: str
) -> None:
    before, path = everything(area), location.format(area=area, lake=area / "lake")
    for text in (
        f"CREATE TABLE new (a INT) LOCATION '{path}'",
        f"CREATE TABLE IF NOT EXISTS new (a INT) LOCATION '{path}'",
        f"CREATE OR REPLACE TABLE new (a INT) LOCATION '{path}'",
        f"CREATE TABLE new LOCATION '{path}' AS SELECT 1 AS a",
        f"CREATE TABLE new LIKE base LOCATION '{path}'",
        f"CREATE TABLE delta.`{path}` (a INT)",
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` AS SELECT 1 AS a",
        f"CREATE OR REPLACE TABLE delta.`{path}` AS SELECT 1 AS a",
    ):
        if path == "relative" and "delta." in text:
            continue  # no path, but a name
        assert refuse(session, text).condition == condition, text
    assert everything(area) == before
    assert rows(session, "SHOW TABLES LIKE 'new'") == []


@pytest.mark.parametrize(("location", "condition"), LOCATIONS)
def test_a_schema_takes_no_location_that_its_tables_could_not_use(
    session: LakeSession, area: Path, location: str, condition: str
) -> None:
    before, path = everything(area), location.format(area=area, lake=area / "lake")
    if path in (f"{area}/lake", f"{area}/lake/default"):  # where sibling tables are located
        run(session, f"CREATE SCHEMA other LOCATION '{path}'")
        run(session, "DROP SCHEMA other")
    else:
        assert refuse(session, f"CREATE SCHEMA other LOCATION '{path}'").condition == condition
        assert refuse(session, "USE other").condition == "SCHEMA_NOT_FOUND"
    assert everything(area) == before


def test_a_schema_and_a_table_of_one_folder_keep_apart(session: LakeSession, lake: Path) -> None:
    run(session, f"CREATE TABLE flat (a INT) LOCATION '{lake}/flat'")
    run(session, "CREATE SCHEMA flat")
    before = everything(lake)
    for form in FORMS:
        assert refuse(session, form.format("flat.inside")).condition == OVERLAP, form
    assert everything(lake) == before
    run(session, "DROP TABLE flat")
    assert refuse(session, "CREATE TABLE flat.inside (a INT)").condition == OVERLAP  # its files are still there


def test_locations_of_tables_lead_only_to_tables_that_are_allowed(session: LakeSession, area: Path) -> None:
    run(session, f"CREATE TABLE movable (a INT) LOCATION '{area}/more/movable'")
    before = everything(area)
    for path, condition in (
        (f"{area}/outside", NOT_ALLOWED),
        (f"{area}/lake/linked", NOT_ALLOWED),
        (f"{area}/lake/../outside", NOT_ALLOWED),
        (f"{area}/lake/default/base/inner", "DELTA_TABLE_NOT_FOUND"),
    ):
        assert refuse(session, f"ALTER TABLE movable SET LOCATION '{path}'").condition == condition
    assert everything(area) == before
    run(session, "DROP TABLE movable")


# --- Paths ------------------------------------------------------------------------------------------------------------


def test_a_table_is_made_at_a_path_and_has_no_other_name(session: LakeSession, area: Path) -> None:
    for number, (create, again) in enumerate(
        (
            ("CREATE TABLE {} (a INT, b STRING) PARTITIONED BY (b)", "CREATE TABLE {} (a INT)"),
            ("CREATE TABLE {} AS SELECT 1 AS a, 'x' AS b", "CREATE TABLE {} AS SELECT 2 AS a"),
            ("CREATE TABLE IF NOT EXISTS {} AS SELECT 1 AS a, 'x' AS b", "CREATE TABLE {} LIKE base"),
            ("CREATE OR REPLACE TABLE {} (a INT, b STRING)", "CREATE TABLE {} (a INT)"),
            ("CREATE OR REPLACE TABLE {} AS SELECT 1 AS a, 'x' AS b", "CREATE TABLE {} (a INT)"),
        )
    ):
        name = f"delta.`{area}/more/path {number}`"
        run(session, create.format(name))
        assert (area / f"more/path {number}/_delta_log/00000000000000000000.json").exists()
        expected = [(1, "x")] if "SELECT" in create else []
        assert rows(session, f"SELECT * FROM {name}") == expected
        assert refuse(session, again.format(name)).condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
        run(session, f"CREATE TABLE IF NOT EXISTS {name} AS SELECT 5 AS other")
        run(session, f"INSERT INTO {name} VALUES (2, 'y')")
        assert rows(session, f"SELECT * FROM {name} ORDER BY a") == [*expected, (2, "y")]
        run(session, f"CREATE OR REPLACE TABLE {name} AS SELECT 7 AS c")
        assert rows(session, f"SELECT * FROM {name}") == [(7,)]
        run(session, f"REPLACE TABLE {name} (d INT)")
    assert [name for (_, name, _) in rows(session, "SHOW TABLES") if "path" in name] == []
    assert [name for (name,) in rows(session, "SHOW SCHEMAS") if name == "delta"] == []


def test_paths_that_nothing_can_be_made_at(session: LakeSession, area: Path) -> None:
    path = f"{area}/more/nothing"
    for text, condition in (
        (f"REPLACE TABLE delta.`{path}` (a INT)", "DELTA_CANNOT_REPLACE_MISSING_TABLE"),
        (
            f"CREATE TABLE delta.`{path}` (a INT) LOCATION '{path}2'",
            "DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH",
        ),
        (f"CREATE TABLE delta.`{path}` AS SELECT CAST(raise_error('no') AS INT) AS a", "USER_RAISED_EXCEPTION"),
    ):
        assert refuse(session, text).condition == condition
    assert not list(Path(path).rglob("*.json"))
    run(session, f"CREATE TABLE delta.`{path}` LIKE base")
    run(session, f"CREATE TABLE IF NOT EXISTS delta.`{path}` (a INT) LOCATION '{path}/.'")
    assert rows(session, f"SHOW TBLPROPERTIES delta.`{path}` ('by')") == [("by", "test")]


# --- Killed -----------------------------------------------------------------------------------------------------------

LEFT = [[], [".00000000000000000000.json.0123456789abcdef0123456789abcdef.tmp"], ["../part-0.parquet"]]
MAKING = [form for form in FORMS if "{} LIKE" not in form]


@pytest.mark.parametrize("left", LEFT, ids=["nothing", "temporary", "rows"])
def test_leftovers_of_a_killed_create_are_no_table(session: LakeSession, lake: Path, left: list[str]) -> None:
    """Neither folder nor file that it left is in anybody's way."""
    for number, form in enumerate(MAKING):
        name = f"killed_{number}"
        log = lake / "default" / name / "_delta_log"
        log.mkdir(parents=True)
        for file in left:
            (log / file).write_bytes(b"half")
        assert rows(session, f"SHOW TABLES LIKE '{name}'") == []
        assert refuse(session, f"SELECT * FROM {name}").condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert refuse(session, f"DROP TABLE {name}").condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert refuse(session, f"REPLACE TABLE {name} (a INT)").condition == "DELTA_CANNOT_REPLACE_MISSING_TABLE"
        assert refuse(session, f"SELECT * FROM delta.`{lake}/default/{name}`").condition == "DELTA_TABLE_NOT_FOUND"
        run(session, f"DROP TABLE IF EXISTS {name}")
        run(session, form.format(name))
        assert rows(session, f"SELECT * FROM {name}") == ([(1,)] if "SELECT" in form else [])
        assert (log / "00000000000000000000.json").exists()
        assert rows(session, f"SHOW TABLES LIKE '{name}'") == [("default", name, False)]
        run(session, f"DROP TABLE {name}")
        assert not log.exists()


# --- Gone -------------------------------------------------------------------------------------------------------------


def test_a_lake_that_is_gone_is_an_error_that_passes(session: LakeSession, area: Path, lake: Path) -> None:
    run(session, "CREATE TABLE elsewhere AS SELECT 5 AS a")
    rows(session, "SELECT count(*) FROM base")
    for stand_in in (False, True):
        os.rename(lake, area / "away")
        if stand_in:
            lake.mkdir()
        for text in (
            "SELECT * FROM base",
            "SELECT count(*) FROM base",
            "SHOW TABLES",
            "SHOW SCHEMAS",
            "INSERT INTO base VALUES (2)",
            "DESCRIBE HISTORY base",
            "DROP TABLE base",
            "DROP TABLE IF EXISTS nothing",
            "CREATE TABLE fresh (a INT)",
            "CREATE TABLE IF NOT EXISTS fresh AS SELECT 1 AS a",
            f"CREATE TABLE delta.`{lake}/fresh` AS SELECT 1 AS a",
            f"CREATE TABLE fresh (a INT) LOCATION '{lake}/fresh'",
            "CREATE SCHEMA fresh",
            "CREATE VIEW fresh AS SELECT 1 AS a",
        ):
            error = refuse(session, text)
            assert (error.condition, error.sqlstate) == ("LAKE_NOT_AVAILABLE", "57012"), text
        assert rows(session, "SELECT 1 AS a") == [(1,)]
        if stand_in:
            assert everything(lake) == []
            lake.rmdir()
        assert not lake.exists()
        os.rename(area / "away", lake)
        assert rows(session, "SELECT * FROM base") == [(1,)]
    run(session, "DROP TABLE elsewhere")
