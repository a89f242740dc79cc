"""Security over every front end: logins, rights, row filters and masks, hidden names, ids of others, and the audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import httpx2
import pytest

from tests.clients.fix_front_ends import place
from tests.clients.front_ends import (
    CLIENT_SESSION,
    FLIGHT,
    FRONT_ENDS,
    HANDLES,
    POSTGRES,
    SESSION,
    Client,
    Failed,
    Place,
    column,
    over,
)
from tests.gateway.http.conftest import eventually
from tests.security.secure_server import basic

__all__ = ["place"]  # a fixture
pytestmark = [pytest.mark.clients, pytest.mark.spark]

WIRES = {"hs2": "thrift", "hs2-http": "thrift-http", "statements": "http", "connect": "connect", "mcp": "mcp"}
WIRES |= {FLIGHT: "flight", POSTGRES: "postgres"}
# The tests without this mark are in `make test`.
slow = pytest.mark.slow
DENIED = ("42501", "42P01")


@pytest.fixture
def bob(place: Place, front_end: str) -> Iterator[Client]:
    with place.opened(front_end, "bob") as opened:
        yield opened


@pytest.fixture
def ann(place: Place, front_end: str) -> Iterator[Client]:
    with place.opened(front_end, "ann") as opened:
        yield opened


def failure(call: Callable[[], object]) -> Failed:
    with pytest.raises(Failed) as caught:
        call()
    return caught.value


def _log_in(place: Place, front_end: str, user: str, password: str) -> list[list[str | None]]:
    client = place.client(front_end, user, password)
    try:
        return client.rows("SELECT current_user()")
    finally:
        client.close()


@slow
@over()
def test_only_the_right_password_logs_in(place: Place, front_end: str) -> None:
    assert _log_in(place, front_end, "bob", "bobbob") == [["bob"]]
    for user, password in (("bob", "bob"), ("bob", ""), ("nobody", "x"), ("", "")):
        found = failure(partial(_log_in, place, front_end, user, password))
        assert "bobbob" not in found.message and "Traceback" not in found.message
    assert _log_in(place, front_end, "bob", "bobbob") == [["bob"]]


@pytest.fixture(scope="module")
def token(place: Place) -> str:
    url = f"http://127.0.0.1:{place.http}/api/2.0/token/create"
    answer = httpx2.post(url, json={"comment": "a test"}, headers=basic("bob", "bobbob"))
    return str(answer.json()["token_value"])


@slow
@over()
def test_token_logs_in_as_its_owner(place: Place, front_end: str, token: str) -> None:
    assert _log_in(place, front_end, "token", token) == [["bob"]]
    failure(lambda: _log_in(place, front_end, "token", token[:-1] + ("0" if token[-1] != "0" else "1")))


@slow
@over()
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM hidden.table_a",
        "SELECT count(*) FROM half.table_a",
        "SELECT (SELECT max(id) FROM hidden.table_a)",
        "WITH t AS (SELECT * FROM half.table_a) SELECT * FROM t",
        "DESCRIBE hidden.table_a",
        "INSERT INTO s.open VALUES (3, 'east')",
        "UPDATE s.open SET region = 'x'",
        "DELETE FROM s.open",
        "DROP TABLE s.open",
        "ALTER TABLE s.protected DROP ROW FILTER",
        "GRANT SELECT ON SCHEMA hidden TO bob",
        "CREATE TABLE s.mine (id INT)",
        "SELECT * FROM delta.`/etc`",
    ],
)
def test_statement_without_privilege_is_denied(bob: Client, text: str) -> None:
    assert failure(lambda: bob.rows(text)).sqlstate is not None
    assert bob.rows("SELECT count(*) FROM s.open") == [["2"]]
    assert bob.rows("SELECT count(*) FROM half.visible") == [["0"]]


@over()
def test_table_without_privilege_is_denied_and_one_with_it_is_read(bob: Client, ann: Client) -> None:
    assert bob.rows("SELECT id FROM s.open ORDER BY id") == [["1"], ["2"]]
    assert failure(lambda: bob.rows("SELECT id FROM hidden.table_a")).sqlstate in DENIED
    assert failure(lambda: bob.rows("SELECT id FROM half.table_a")).sqlstate in DENIED
    assert ann.rows("SELECT id FROM hidden.table_a") == [["7"]]


PROTECTED = {
    "SELECT * FROM s.protected": [["1", "north", "***"]],
    "SELECT count(*) FROM s.protected": [["1"]],
    "SELECT id FROM s.protected WHERE region = 'south'": [],
    "SELECT id FROM s.protected WHERE email = 'a@x'": [],
    "SELECT max(email), min(email) FROM s.protected": [["***", "***"]],
    "SELECT a.id FROM s.protected a JOIN s.open o ON a.id = o.id": [["1"]],
    "EXECUTE IMMEDIATE 'SELECT email FROM s.protected'": [["***"]],
}


@over()
def test_row_filter_and_mask_apply(bob: Client) -> None:
    assert bob.rows("SELECT * FROM s.protected") == PROTECTED["SELECT * FROM s.protected"]
    assert bob.rows("SELECT count(*) FROM s.protected") == [["1"]]


@slow
@over()
@pytest.mark.parametrize("text", PROTECTED)
def test_row_filter_and_mask_apply_in_every_form(bob: Client, text: str) -> None:
    assert bob.rows(text) == PROTECTED[text]


SETTINGS = (
    "SET spark.sql.ansi.enabled = false",
    "SET spark.sql.caseSensitive = true",
    "SET spark.sql.session.timeZone = Asia/Tokyo",
    "SET spark.sql.optimizer.excludedRules = x",
    "SET spark.sql.variable.substitute = true",
    "CREATE TEMPORARY FUNCTION in_north(r STRING) RETURNS BOOLEAN RETURN true",
    "CREATE TEMPORARY FUNCTION masked(v STRING) RETURNS STRING RETURN v",
    "CREATE TEMPORARY VIEW protected AS SELECT 9 AS id, 'x' AS region, 'y' AS email",
    "DECLARE VARIABLE region STRING DEFAULT 'south'",
    "USE work",
)


@slow
@over(SESSION)
def test_state_of_a_readers_session_does_not_change_a_policy(bob: Client) -> None:
    applied = 0
    for text in SETTINGS:
        try:
            bob.rows(text)
            applied += 1
        except Failed:
            continue  # it is not allowed at all
        for query in ("SELECT * FROM s.protected", "SELECT count(*) FROM s.protected"):
            assert bob.rows(query) == PROTECTED[query], text
    assert applied >= 5


@slow
@over()
def test_error_for_a_hidden_table_is_that_for_a_missing_one(bob: Client) -> None:
    for hidden, missing in (
        ("half.table_a", "half.table_b"),
        ("hidden.table_a", "hidden.table_b"),
        ("hidden.table_a", "absent.table_a"),
    ):
        found = [failure(partial(bob.rows, f"SELECT * FROM {name}")) for name in (hidden, missing)]
        assert found[0].condition == found[1].condition and found[0].sqlstate == found[1].sqlstate
        texts = [
            _without_names(one.message, name.split(".")) for one, name in zip(found, (hidden, missing), strict=True)
        ]
        assert texts[0] == texts[1]


def _without_names(text: str, parts: list[str]) -> str:
    for part in parts:
        text = text.replace(part, "x")
    return text


@slow
@over()
def test_lists_have_visible_objects_only(bob: Client, ann: Client) -> None:
    assert set(column(bob.rows("SHOW SCHEMAS"))).isdisjoint({"hidden", "rules"})
    assert column(bob.rows("SHOW TABLES IN half"), 1) == ["visible"]
    names = "SELECT table_name FROM system.information_schema.tables WHERE table_schema IN ('half', 'hidden')"
    assert column(bob.rows(names)) == ["visible"]
    assert "hidden" in column(ann.rows("SHOW SCHEMAS"))


@over(HANDLES)
def test_statements_of_others_are_refused(ann: Client, bob: Client) -> None:
    handle = ann.begin("SELECT count(*), 'of ann' FROM range(1000)")
    found = failure(lambda: bob.finish(handle))
    assert "of ann" not in found.message
    assert ann.finish(handle) == [["1000", "of ann"]]


@slow
@over(CLIENT_SESSION)
def test_sessions_of_others_are_refused(place: Place, front_end: str, ann: Client, bob: Client) -> None:
    ann.rows("SELECT 1")
    assert "of ann" not in failure(lambda: bob.rows_in_session_of(ann, "SELECT 'of ann'")).message.lower()
    with place.opened(front_end, "ann") as second:
        assert second.rows_in_session_of(ann, "SELECT current_user()") == [["ann"]]


@slow
@over()
def test_audit_has_success_and_denial_with_user_and_interface(
    place: Place, front_end: str, ann: Client, bob: Client
) -> None:
    mark = f"audited over {front_end}"
    bob.rows(f"SELECT id, '{mark}' FROM s.open")
    failure(lambda: bob.rows(f"INSERT INTO s.open VALUES (3, '{mark}')"))
    text = (
        "SELECT DISTINCT outcome, user_identity.email, wire FROM system.access.audit "
        f"WHERE statement_text LIKE '%{mark}%' AND statement_text NOT LIKE '%LIKE%' AND outcome IS NOT NULL"
    )
    expected = {("ok", "bob", WIRES[front_end]), ("denied", "bob", WIRES[front_end])}
    found: set[tuple[str | None, ...]] = set()

    def is_recorded() -> bool:
        with place.opened("statements", "ann") as watch:
            found.update(map(tuple, watch.rows(text)))
        return {(outcome, user, wire) for outcome, user, wire in found} >= expected

    assert eventually(is_recorded, 30), found


def test_every_front_end_is_covered() -> None:
    assert set(WIRES) == set(FRONT_ENDS)
