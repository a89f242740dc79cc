"""Behavior that is the same over every front end: values, errors, changes, sessions and cancelled statements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.fix_front_ends import place
from tests.clients.front_ends import COUNTS, SESSION, Client, Failed, Place, column, over
from tests.gateway.http.conftest import eventually

__all__ = ["place"]  # a fixture
pytestmark = [pytest.mark.clients, pytest.mark.spark]


@pytest.fixture
def client(place: Place, front_end: str) -> Iterator[Client]:
    with place.opened(front_end, "ann") as opened:
        yield opened


@pytest.fixture
def table(client: Client, front_end: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yields the name of a table that the test may create."""
    name = f"work.{front_end.replace('-', '_')}_{request.node.originalname[5:25]}"
    yield name
    client.rows(f"DROP TABLE IF EXISTS {name}")


# SQL → the text that every client shows.
VALUES = {
    "true": "true",
    "-128Y": "-128",
    "32767S": "32767",
    "-2147483648": "-2147483648",
    "9223372036854775807L": "9223372036854775807",
    "CAST(1.5 AS FLOAT)": "1.5",
    "2.5D": "2.5",
    "CAST(-1.50 AS DECIMAL(38,2))": "-1.50",
    "'é \"q\" 日本'": 'é "q" 日本',
    "''": "",
    "DATE'2024-02-29'": "2024-02-29",
    "TIMESTAMP_NTZ'2024-02-29 12:34:56.25'": "2024-02-29 12:34:56.25",
    "array(1, NULL, 3)": "[1,null,3]",
    "map('k', 1)": '{"k":1}',
    "named_struct('x', 1, 'y', 'z')": '{"x":1,"y":"z"}',
}


@over()
def test_values_of_each_type_and_nulls_arrive(client: Client) -> None:
    texts = [f"SELECT {', '.join(f'{value} AS c{n}' for n, value in enumerate(VALUES))}"]
    texts.append(f"SELECT {', '.join(f'nullif(true, true) AND {n} = {n} AS c{n}' for n in range(3))}")
    assert client.rows(texts[0]) == [list(VALUES.values())]
    assert client.rows(texts[1]) == [[None] * 3]


@over()
def test_null_of_each_type_arrives(client: Client) -> None:
    cases = ", ".join(f"CASE WHEN id > 0 THEN {value} END AS c{n}" for n, value in enumerate(VALUES))
    assert client.rows(f"SELECT {cases} FROM range(1)") == [[None] * len(VALUES)]


@over()
def test_rows_of_many_batches_arrive_in_order(client: Client) -> None:
    rows = client.rows("SELECT id, concat('row ', id) FROM range(0, 12000, 1, 3) ORDER BY id")
    assert column(rows) == [str(number) for number in range(12_000)]
    assert rows[-1] == ["11999", "row 11999"]


@over()
def test_result_without_rows_is_empty(client: Client) -> None:
    assert client.rows("SELECT 1 WHERE false") == []


@over()
@pytest.mark.parametrize("text", ["SELECT 1;", "-- a comment\nSELECT 1", "SELECT /* of ; text */ 1 -- end"])
def test_text_with_a_semicolon_or_comments_runs(client: Client, text: str) -> None:
    assert client.rows(text) == [["1"]]


@over()
def test_long_text_and_long_value_arrive(client: Client) -> None:
    value = "é" * 50_000
    assert client.rows(f"SELECT '{value}'") == [[value]]


ERRORS = {
    "SELEC 1": ("PARSE_SYNTAX_ERROR", "42601"),
    "SELECT * FROM work.nobody": ("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    "SELECT nothing FROM s.open": ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    "SELECT 1 / 0": ("DIVIDE_BY_ZERO", "22012"),
    "SELECT CAST('x' AS INT)": ("CAST_INVALID_INPUT", "22018"),
    "SELECT id / 0 FROM s.open": ("DIVIDE_BY_ZERO", "22012"),
    "SELECT no_function(1)": ("UNRESOLVED_ROUTINE", "42883"),
    "SELECT raise_error('own text')": ("USER_RAISED_EXCEPTION", "P0001"),
    "CREATE TABLE s.open (id INT)": ("TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
    "INSERT INTO s.open VALUES (1)": ("INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "21S01"),
    "SET spark.driver.memory = 1g": ("CONFIG_NOT_AVAILABLE", "42K0I"),
    "USE no_schema": ("SCHEMA_NOT_FOUND", "42704"),
}


@over()
@pytest.mark.parametrize("text", ERRORS)
def test_error_has_its_condition_and_state_and_no_stack(client: Client, text: str) -> None:
    with pytest.raises(Failed) as caught:
        client.rows(text)
    assert (caught.value.condition, caught.value.sqlstate) == ERRORS[text]
    assert f"[{ERRORS[text][0]}]" in caught.value.message
    assert ".java:" not in caught.value.message and "Traceback" not in caught.value.message
    assert client.rows("SELECT 1") == [["1"]]


@over()
def test_error_has_the_position_in_the_users_own_text(client: Client) -> None:
    with pytest.raises(Failed) as caught:
        client.rows("SELECT id,\n  nothing\nFROM s.open")
    assert "line 2" in caught.value.message and "nothing" in caught.value.message


@over()
def test_next_statement_reads_the_changes(client: Client, table: str) -> None:
    assert client.rows(f"CREATE TABLE {table} (id INT, name STRING)") == []
    client.rows(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    client.rows(f"UPDATE {table} SET name = upper(name) WHERE id > 1")
    client.rows(f"DELETE FROM {table} WHERE id = 1")
    client.rows(
        f"MERGE INTO {table} AS t USING (SELECT explode(array(2, 4)) AS id) AS s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, 'd')"
    )
    assert client.rows(f"SELECT * FROM {table} ORDER BY id") == [["3", "C"], ["4", "d"]]
    assert client.rows(f"SELECT count(*) FROM {table} VERSION AS OF 1") == [["3"]]
    versions = client.rows(f"DESCRIBE HISTORY {table}")
    assert column(versions) == ["4", "3", "2", "1", "0"]


@over(COUNTS)
def test_change_returns_its_row_counts(client: Client, table: str) -> None:
    client.rows(f"CREATE TABLE {table} (id INT)")
    assert client.rows(f"INSERT INTO {table} VALUES (1), (2), (3)")[0][0] == "3"
    assert client.rows(f"DELETE FROM {table} WHERE id > 1")[0][0] == "2"


@over()
def test_failed_write_changes_nothing(client: Client, table: str) -> None:
    client.rows(f"CREATE TABLE {table} (id INT)")
    with pytest.raises(Failed) as caught:
        client.rows(f"INSERT INTO {table} SELECT CAST(v AS INT) FROM VALUES ('1'), ('x') AS s(v)")
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert client.rows(f"SELECT count(*) FROM {table}") == [["0"]]


@over()
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("BEGIN DECLARE x INT DEFAULT 2; SET x = x * 21; SELECT x; END", "42"),
        ("EXECUTE IMMEDIATE 'SELECT ? + 1' USING 41", "42"),
        ("WITH t AS (SELECT 42 AS i) SELECT i FROM t", "42"),
        ("FROM range(3) |> AGGREGATE sum(id) + 39", "42"),
    ],
)
def test_script_and_query_forms_return_rows(client: Client, text: str, row: str) -> None:
    assert client.rows(text) == [[row]]


@over(SESSION)
def test_state_of_a_session_lasts_and_is_its_own(place: Place, front_end: str, client: Client) -> None:
    client.rows("SET spark.sql.session.timeZone = Asia/Tokyo")
    client.rows("DECLARE VARIABLE x INT DEFAULT 41")
    client.rows("CREATE TEMPORARY VIEW mine AS SELECT 7 AS seven")
    client.rows("USE s")
    state = "SELECT current_timezone(), x + 1, seven, current_schema() FROM mine"
    assert client.rows(state) == [["Asia/Tokyo", "42", "7", "s"]]
    with place.opened(front_end, "ann") as other:
        assert other.rows("SELECT current_schema()") == [["default"]]
        with pytest.raises(Failed) as caught:
            other.rows("SELECT * FROM mine")
        assert caught.value.sqlstate == "42P01"
    assert client.rows(state) == [["Asia/Tokyo", "42", "7", "s"]]


@over()
def test_user_of_the_statement_is_who_logged_in(place: Place, front_end: str) -> None:
    for user in ("ann", "bob", "zoë"):
        with place.opened(front_end, user) as opened:
            assert opened.rows("SELECT current_user()") == [[user]]


@over()
def test_statement_that_runs_is_finished_later(client: Client) -> None:
    handle = client.begin("SELECT count(*) FROM range(1500000) WHERE sha2(CAST(id AS STRING), 512) > ''")
    assert client.finish(handle) == [["1500000"]]


@over()
def test_canceled_statement_ends_at_the_server(place: Place, front_end: str, client: Client) -> None:
    mark = f"cancelled by {front_end}"
    text = f"SELECT count(*), '{mark}' FROM range(90000000000) WHERE sha2(CAST(id AS STRING), 512) = 'x'"
    handle = client.begin(text)
    client.cancel(handle)
    state = f"SELECT state FROM system.gateway.queries WHERE statement_text LIKE 'SELECT count(*), \\'{mark}%'"
    with place.opened("statements", "ann") as watch:
        assert eventually(lambda: set(column(watch.rows(state))) == {"CANCELED"}, 60)
    with pytest.raises(Failed) as caught:
        client.finish(handle)
    assert "cancel" in caught.value.message.lower()
    assert client.rows("SELECT 1") == [["1"]]


@over()
def test_history_has_the_statement_with_its_front_end(place: Place, front_end: str, client: Client) -> None:
    mark = f"recorded over {front_end}"
    client.rows(f"SELECT '{mark}'")
    names = {
        "hs2": "thrift",
        "hs2-http": "thrift-http",
        "statements": "http",
        "connect": "connect",
        "mcp": "mcp",
        "flight": "flight",
        "postgres": "postgres",
    }
    text = (
        "SELECT DISTINCT interface, user_name FROM system.gateway.queries "
        f"WHERE statement_text LIKE '%\\'{mark}\\'%' AND statement_text NOT LIKE '%LIKE%'"
    )
    with place.opened("statements", "ann") as watch:
        assert watch.rows(text) == [[names[front_end], "ann"]]
