"""The objects that a statement reads, writes and creates, through views, functions and policies."""

from __future__ import annotations

import pytest

from engine.authorization.accesses import access_of
from engine.binding.bound import AuthorizedStatement
from engine.runtime.accesses import Use
from tests.engine.authorization.guarded_tables import bound_statement, guarded_tables
from tests.security.guarded_lake import GuardedLake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> GuardedLake:
    lake = guarded_tables(tmp_path_factory.mktemp("accesses") / "lake")
    lake.do("root", f"CREATE EXTERNAL LOCATION landing URL '{lake.folder}/files'")
    files = lake.folder / "files"
    files.mkdir()
    (files / "a.csv").write_text("1\n")
    return lake


T = ("shop.t", "TABLE", "read", None)
HIDDEN = ("shop.hidden", "TABLE", "read", "shop.seen")


@pytest.mark.parametrize(
    ("text", "use", "objects"),
    [
        ("SELECT * FROM t", Use.READ, [T]),
        ("SELECT * FROM t", Use.WRITE, [T]),
        ("SELECT * FROM t", Use.CREATE, [T]),
        ("SELECT * FROM t", Use.DESCRIBE, [("shop.t", "TABLE", "describe", None)]),
        ("SELECT * FROM t JOIN t AS u", Use.READ, [T]),
        ("SELECT * FROM seen", Use.READ, [("shop.seen", "VIEW", "read", None), HIDDEN]),
        (
            "SELECT * FROM outer_view",
            Use.READ,
            [("shop.outer_view", "VIEW", "read", None), ("shop.seen", "VIEW", "read", "shop.outer_view"), HIDDEN],
        ),
        (
            "SELECT * FROM calling",
            Use.READ,
            [
                ("shop.calling", "VIEW", "read", None),
                ("shop.t", "TABLE", "read", "shop.calling"),
                ("shop.calls_one", "FUNCTION", "execute", "shop.calling"),
                ("shop.one", "FUNCTION", "execute", "shop.calling"),
            ],
        ),
        (
            "SELECT calls_one()",
            Use.READ,
            [("shop.calls_one", "FUNCTION", "execute", None), ("shop.one", "FUNCTION", "execute", None)],
        ),
        (
            "SELECT total()",
            Use.READ,
            [("shop.hidden", "TABLE", "read", "shop.total"), ("shop.total", "FUNCTION", "execute", None)],
        ),
        (
            "SELECT * FROM looked",
            Use.READ,
            [("shop.looked", "TABLE", "read", None), ("shop.hidden", "TABLE", "read", "shop.looked")],
        ),
        ("SELECT * FROM masked", Use.READ, [("shop.masked", "TABLE", "read", None)]),
        (
            "SELECT * FROM table_changes('shop.t', 0)",
            Use.READ,
            [T],
        ),
        ("INSERT INTO t TABLE t", Use.WRITE, [("shop.t", "TABLE", "write", None), T]),
        ("CREATE TABLE fresh (a INT)", Use.WRITE, [("shop.fresh", "TABLE", "create", None)]),
        ("CREATE TABLE delta.`{files}/fresh` (a INT)", Use.WRITE, [("delta.{files}/fresh", "TABLE", "create", None)]),
        ("ALTER TABLE t RENAME TO u", Use.WRITE, [("shop.t", "TABLE", "write", None)]),
        ("DROP TABLE t", Use.WRITE, [("shop.t", "TABLE", "write", None)]),
        ("CREATE TABLE IF NOT EXISTS seen (a INT)", Use.WRITE, [("shop.seen", "VIEW", "write", None)]),
        ("SELECT * FROM read_files('{files}', format => 'csv')", Use.READ, [("{files}", "FILES", "read", None)]),
        ("GRANT SELECT ON SCHEMA shop TO eve", Use.GRANT, [("shop", "SCHEMA", "grant", None)]),
        ("GRANT CREATE CATALOG ON SERVER TO eve", Use.GRANT, [("", "SERVER", "grant", None)]),
    ],
)
def test_accessed_objects_of_a_statement_in_order(
    lake: GuardedLake, text: str, use: Use, objects: list[tuple[str, str, str, str | None]]
) -> None:
    files = str(lake.folder / "files")
    bound = bound_statement(lake, "root", text.replace("{files}", files))
    access = access_of(AuthorizedStatement(bound=bound), use)
    found = [
        (_plain(one.name), one.kind, str(one.use), one.via_view and _plain(one.via_view)) for one in access.objects
    ]
    assert found == [(name.replace("{files}", files), *rest) for name, *rest in objects]
    assert access.statement == type(bound.statement).__name__


def test_accessed_table_has_the_version_that_is_read(lake: GuardedLake) -> None:
    bound = bound_statement(lake, "root", "SELECT * FROM t VERSION AS OF 0")
    (access,) = access_of(AuthorizedStatement(bound=bound), Use.READ).objects
    assert access.version == 0


def _plain(name: str | None) -> str | None:
    return name and name.replace("`", "").removeprefix("spark_catalog.")
