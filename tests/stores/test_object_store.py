"""The catalog and logs on an object store: this server sees its own changes immediately, and unknown outcomes are
resolved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from catalog.changes import CreateTable, apply
from catalog.entries import TableEntry
from catalog.names import TableName
from catalog.store.file_store import FileStore
from catalog.store.remote import open_files
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.storage.storage import open_storage
from tests.engine.contexts import run_on
from tests.engine.parsed import parse_one
from tests.security.guarded_lake import NoSpark, Reached
from tests.stores.s3_lake import BUCKET, S3Lake, S3Server, s3_server


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


_numbers = itertools.count()


@pytest.fixture
def lake(store: S3Server) -> S3Lake:
    """Returns an empty lake with the schema `s`."""
    return new_lake(store)


def new_lake(store: S3Server) -> S3Lake:
    store.fail()
    lake = S3Lake(f"lake{next(_numbers)}")
    lake.answer("CREATE SCHEMA s")
    return lake


CREATIONS = {
    "CREATE TABLE": "CREATE TABLE {table} (id BIGINT, again INT)",
    "IF NOT EXISTS": "CREATE TABLE IF NOT EXISTS {table} (id BIGINT, again INT)",
    "OR REPLACE": "CREATE OR REPLACE TABLE {table} (id BIGINT, again INT)",
    "Iceberg": "CREATE TABLE {table} (id BIGINT, again INT) USING iceberg",
}


@pytest.mark.parametrize("case", CREATIONS)
def test_table_is_created_after_a_listing_showed_the_one_that_was_dropped(lake: S3Lake, case: str) -> None:
    lake.answer("CREATE TABLE s.a (id BIGINT)")
    assert lake.names("s") == ["a"]
    lake.answer("DROP TABLE s.a")
    assert lake.names("s") == []
    lake.answer(CREATIONS[case].format(table="s.a"))
    assert [name for name, *_ in lake.rows("SHOW COLUMNS IN s.a")] == ["id", "again"]
    assert lake.other().names("s") == ["a"]


@pytest.mark.parametrize("case", CREATIONS)
def test_another_server_created_the_table_since_the_listing(lake: S3Lake, case: str) -> None:
    assert lake.names("s") == []
    lake.other().answer("CREATE TABLE s.a (id BIGINT)")
    if case in ("CREATE TABLE", "Iceberg"):
        error = lake.refuse(CREATIONS[case].format(table="s.a"))
        assert error.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
    else:
        lake.answer(CREATIONS[case].format(table="s.a"))
    columns = [name for name, *_ in lake.rows("SHOW COLUMNS IN s.a")]
    assert columns == (["id", "again"] if case == "OR REPLACE" else ["id"])


def test_next_statement_reads_changes_of_other_server(lake: S3Lake) -> None:
    other = lake.other()
    lake.answer("COMMENT ON SCHEMA s IS 'of another server'")
    assert "of another server" in str(other.rows("DESCRIBE SCHEMA s"))
    lake.answer("CREATE TABLE s.a (id BIGINT)")
    assert [name for name, *_ in other.rows("SHOW COLUMNS IN s.a")] == ["id"]
    lake.answer("ALTER TABLE s.a ADD COLUMNS (x INT)")
    assert [name for name, *_ in other.rows("SHOW COLUMNS IN s.a")] == ["id", "x"]
    lake.answer("DROP TABLE s.a")
    assert other.refuse("SHOW COLUMNS IN s.a").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert other.names("s") == []
    lake.answer("CREATE SCHEMA later")
    other.answer("CREATE TABLE later.a (id BIGINT)")
    assert lake.names("later") == ["a"]
    lake.answer("DROP TABLE later.a")
    lake.answer("CREATE TABLE later.a (again INT)")
    assert [name for name, *_ in other.rows("SHOW COLUMNS IN later.a")] == ["again"]
    lake.answer("DROP SCHEMA later CASCADE")
    assert other.refuse("CREATE TABLE later.b (id BIGINT)").condition == "SCHEMA_NOT_FOUND"


CHANGES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    # before; the statement; a query, and its answer if the statement took effect
    "CREATE SCHEMA": ((), "CREATE SCHEMA more", "SHOW SCHEMAS LIKE 'more'", "[('more',)]"),
    "CREATE TABLE": ((), "CREATE TABLE s.a (id BIGINT)", "SHOW COLUMNS IN s.a", "[('id',)]"),
    "CREATE Iceberg TABLE": (
        (),
        "CREATE TABLE s.a (id BIGINT) USING iceberg",
        "SHOW COLUMNS IN s.a",
        "[('id',)]",
    ),
    "ALTER TABLE": (
        ("CREATE TABLE s.a (id BIGINT)",),
        "ALTER TABLE s.a ADD COLUMNS (x INT)",
        "SHOW COLUMNS IN s.a",
        "[('id',), ('x',)]",
    ),
    "DROP TABLE": (
        ("CREATE TABLE s.a (id BIGINT)", "CREATE TABLE s.b (id BIGINT)"),
        "DROP TABLE s.a",
        "SHOW TABLES IN s",
        "[('s', 'b', False)]",
    ),
}
FAULTS = {
    "the answer is lost": "lose",
    "the connection is reset": "reset",
    "the store is busy": "503",
    "nothing happens": "hang",
    "the answer is late": "late",
}


def lose(store: S3Server, case: str, fault: str, number: int) -> int:
    """Runs the statement, with put `number` failing once, and checks its effect; returns the number of puts."""
    before, statement, query, expected = CHANGES[case]
    lake = new_lake(store)
    for text in before:
        lake.answer(text)
    store.fail({"method": "PUT", "path": ".", "kind": FAULTS[fault], "skip": number, "count": 1})
    store.requests()
    lake.answer(statement)
    puts = sum(method == "PUT" for method, _, _ in store.requests())
    store.fail()
    for server in (lake, lake.other()):
        assert str(server.rows(query)) == expected, f"put {number}"
    lake.answer("DROP TABLE IF EXISTS s.a")
    assert "a" not in lake.other().names("s")
    return puts


@pytest.mark.parametrize(("case", "number"), [("CREATE SCHEMA", 1), ("CREATE TABLE", 1), ("DROP TABLE", 0)])
def test_statement_one_of_whose_puts_lost_its_answer(store: S3Server, case: str, number: int) -> None:
    """The client repeats the put and finds its own file: the generation, the first commit, a DROP's marker."""
    assert lose(store, case, "the answer is lost", number) > number


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", CHANGES)
def test_statement_each_of_whose_puts_failed_once(store: S3Server, case: str, fault: str) -> None:
    number, puts = 0, 1
    while number < puts:
        puts = lose(store, case, fault, number)
        number += 1
    assert number > 1


def test_store_that_refuses_every_put_is_named_and_nothing_is_changed(lake: S3Lake, store: S3Server) -> None:
    store.fail({"method": "PUT", "path": "catalog/", "kind": "403", "count": 1000})
    assert lake.refuse("CREATE SCHEMA more").condition == "CATALOG_NOT_WRITABLE"
    store.fail()
    assert lake.rows("SHOW SCHEMAS LIKE 'more'") == []
    lake.answer("CREATE SCHEMA more")


def test_query_that_names_nothing_sends_no_request(lake: S3Lake, store: S3Server) -> None:
    for text, requests in (("SELECT 1", 0), ("SELECT abs(-1), current_date()", 0), ("SELECT is_member('x')", 1)):
        store.requests()
        with pytest.raises(Reached):
            run_on(parse_one(text), lake.state, lake.sources, NoSpark(), _context())
        assert len(store.requests()) == requests, text


def test_list_of_tables_asks_for_none_that_the_catalog_has(lake: S3Lake, store: S3Server) -> None:
    root = f"s3://{BUCKET}/{lake.place}"
    place, catalog = open_storage(f"{root}/lake/s"), FileStore(open_files(f"{root}/catalog"))
    names = [TableName("spark_catalog", "s", f"t{number}") for number in range(200)]
    tables = (TableEntry(name=name, location=f"{place.root}/{name.table}", managed=True) for name in names)
    known = catalog.load()
    assert catalog.swap(known, apply(known, *map(CreateTable, tables)))
    for name in names:
        place.write(f"{name.table}/_delta_log/{0:020}.json", b"{}")
    other = lake.other()
    for _ in range(2):
        store.requests()
        assert len(other.names("s")) == 200
        sent = store.requests()
        assert len(sent) <= 12, sent


TABLES = {
    "delta": ((f"_delta_log/{0:020}.json",), True),
    "delta with partitions before the log": ((f"_delta_log/{0:020}.json", *(f"A={n}/x" for n in range(60))), True),
    "iceberg": (("metadata/v1.metadata.json",), True),
    "iceberg with much data": (("metadata/v1.metadata.json", *(f"data/{n}" for n in range(60))), True),
    "marked": ((f"_delta_log/{0:020}.json", ".unlisted"), False),
    "a log without versions": (("_delta_log/_last_checkpoint",), False),
    "neither": (("data/x",), False),
}


@pytest.mark.parametrize("kind", TABLES)
def test_folder_that_the_catalog_has_not_is_listed_if_it_is_a_table(lake: S3Lake, kind: str) -> None:
    files, is_table = TABLES[kind]
    place = open_storage(f"s3://{BUCKET}/{lake.place}/lake/s")
    for file in files:
        place.write(f"t/{file}", b"{}")
    other = lake.other()  # which has not listed the schema before it had a table
    for _ in range(2):
        assert other.names("s") == (["t"] if is_table else [])


@pytest.mark.parametrize("kind", ["delta", "iceberg", "neither"])
def test_list_of_tables_asks_once_for_each_folder_that_the_catalog_has_not(
    lake: S3Lake, store: S3Server, kind: str
) -> None:
    (file,), is_table = TABLES[kind]
    place = open_storage(f"s3://{BUCKET}/{lake.place}/lake/s")
    for number in range(200):
        place.write(f"t{number}/{file}", b"{}")
    other = lake.other()
    store.requests()
    assert len(other.names("s")) == (200 if is_table else 0)
    sent = store.requests()
    assert len(sent) <= 12 + 200, sent[:20]


def _context() -> StatementRequest:
    return StatementRequest(identity=Identity("ann"))
