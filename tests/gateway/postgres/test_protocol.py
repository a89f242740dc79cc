"""The protocol's messages: start, both query protocols, errors, portals, settings, blocks and cancel requests."""

from __future__ import annotations

import struct
import threading

import pytest

from gateway.postgres.settings import Parameters
from tests.gateway.arrow_engine import answer_of_rows
from tests.gateway.http.conftest import eventually
from tests.gateway.postgres.lab import Lab, Wire, cells, error_of, fields, kinds, opened, tags

_SSL, _GSS, _CANCEL = 80_877_103, 80_877_104, 80_877_102


def _statuses(messages: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found = [content.split(b"\0") for kind, content in messages if kind == b"S"]
    return {name.decode(): value.decode() for name, value, _ in found}


def test_start_reports_the_parameters_that_drivers_require(lab: Lab) -> None:
    wire = Wire(lab.port)
    messages = wire.start({"application_name": "test", "client_encoding": "'utf-8'"})
    assert kinds(messages).replace("S", "") == "RKZ"
    found = _statuses(messages)
    assert found["server_version"].startswith("15.") and found["client_encoding"] == "UTF8"
    assert found["DateStyle"].startswith("ISO") and found["integer_datetimes"] == "on"
    assert found["application_name"] == "test" and found["session_authorization"] == "ada"
    wire.close()


def test_requests_for_encryption_are_answered_once_each(lab: Lab) -> None:
    wire = Wire(lab.port)
    for code in (_GSS, _SSL):
        wire.socket.sendall(struct.pack(">ii", 8, code))
        assert wire._stream.read(1) == b"N"
    assert wire.start()[-1] == (b"Z", b"I")
    wire.close()
    wire = Wire(lab.port)
    wire.socket.sendall(struct.pack(">iiii", 8, _SSL, 8, _SSL))
    assert wire._stream.read(1) == b"N"
    assert error_of(wire.until_ready())["C"] == "08P01"
    wire.close()


@pytest.mark.parametrize(
    ("version", "offered"), [((3 << 16) | 2, None), ((3 << 16) | 9999, (3 << 16) | 2), ((3 << 16) | 1, 3 << 16)]
)
def test_version_is_negotiated(lab: Lab, version: int, offered: int | None) -> None:
    wire = Wire(lab.port)
    messages = wire.start(version=version)
    found = [struct.unpack(">ii", content[:8]) for kind, content in messages if kind == b"v"]
    assert found == ([] if offered is None else [(offered, 0)])
    key = next(content for kind, content in messages if kind == b"K")
    assert len(key) == (8 if offered == 3 << 16 else 36)
    wire.close()


def test_unknown_option_of_the_protocol_is_named(lab: Lab) -> None:
    wire = Wire(lab.port)
    messages = wire.start({"_pq_.test_protocol_negotiation": ""})
    assert next(content for kind, content in messages if kind == b"v")[8:] == b"_pq_.test_protocol_negotiation\0"
    assert messages[-1] == (b"Z", b"I")
    wire.close()


@pytest.mark.parametrize(
    ("parameters", "state"),
    [
        ({"user": ""}, "08P01"),
        ({"replication": "true"}, "0A000"),
        ({"no_such_setting": "1"}, "42704"),
        ({"client_encoding": "LATIN1"}, "22023"),
        ({"options": "-c statement_timeout=never"}, "22023"),
    ],
)
def test_start_that_cannot_be_served_ends_with_its_error(lab: Lab, parameters: dict[str, str], state: str) -> None:
    wire = Wire(lab.port)
    found = error_of(wire.start(parameters))
    assert (found["C"], found["S"]) == (state, "FATAL")
    wire.close()


def test_other_major_version_is_rejected(lab: Lab) -> None:
    wire = Wire(lab.port)
    assert error_of(wire.start(version=2 << 16))["C"] == "0A000"
    wire.close()


def test_simple_query_returns_each_result(wire: Wire) -> None:
    messages = wire.query("SELECT 1; ROWS 3; USE x")
    assert kinds(messages) == "TDCTDDDCCZ"
    assert tags(messages) == ["SELECT 1", "SELECT 3", "USE"]
    assert cells(messages) == [[b"1"], [b"0", b"row 0"], [b"1", b"row 1"], [b"2", b"row 2"]]


@pytest.mark.parametrize("text", ["", "  ", "-- nothing", "/* x */ ;"])
def test_empty_query_is_answered(wire: Wire, text: str) -> None:
    assert kinds(wire.query(text)) == "IZ"


def test_error_ends_a_simple_query(wire: Wire) -> None:
    messages = wire.query("SELECT 1; SELECT broken; SELECT 1")
    assert kinds(messages) == "TDCEZ"
    assert error_of(messages)["C"] == "42601" and messages[-1] == (b"Z", b"I")
    assert kinds(wire.query("SELECT 1")) == "TDCZ"


def test_messages_after_an_error_are_discarded_until_sync(wire: Wire) -> None:
    wire.prepare("SELECT broken")
    wire.bind()
    wire.execute()
    wire.prepare("SELECT 1", b"later")
    assert kinds(wire.sync()) == "12EZ"
    wire.bind(name=b"later")
    assert error_of(wire.sync())["C"] == "26000"


def test_error_is_sent_before_sync(wire: Wire) -> None:
    wire.bind(name=b"unknown")
    message = wire.read()
    assert message is not None and fields(message)["C"] == "26000"
    wire.send(b"H")
    assert kinds(wire.sync()) == "Z"


def test_portal_returns_its_rows_in_parts(wire: Wire) -> None:
    wire.prepare("ROWS 2500")
    wire.bind()
    wire.execute(1000)
    wire.execute(1000)
    wire.execute(1000)
    found = kinds(wire.sync())
    assert found == "12" + "D" * 1000 + "s" + "D" * 1000 + "s" + "D" * 500 + "CZ"


def test_portal_ends_with_its_transaction(lab: Lab, wire: Wire) -> None:
    lab.engine.answers["SELECT rows"] = answer_of_rows(5)
    wire.prepare("SELECT rows")
    wire.bind(portal=b"p")
    wire.execute(2, portal=b"p")
    wire.sync()
    wire.execute(2, portal=b"p")
    assert error_of(wire.sync())["C"] == "34000"
    wire.query("BEGIN")
    wire.bind(portal=b"p")
    wire.execute(2, portal=b"p")
    assert wire.sync()[-1] == (b"Z", b"T")
    wire.execute(0, portal=b"p")
    assert kinds(wire.sync()) == "DDDCZ"
    wire.query("COMMIT")


def test_named_statement_is_unique_and_closing_an_unknown_one_is_no_error(wire: Wire) -> None:
    wire.prepare("SELECT 1", b"s")
    wire.prepare("SELECT 1", b"s")
    assert error_of(wire.sync())["C"] == "42P05"
    wire.send(b"C", b"Ss\0")
    wire.send(b"C", b"Sunknown\0")
    wire.prepare("SELECT 1", b"s")
    assert kinds(wire.sync()) == "331Z"


def test_binary_results_are_in_network_order(wire: Wire) -> None:
    wire.prepare("ROWS 2")
    wire.bind(binary=True)
    wire.send(b"D", b"P\0")
    wire.execute()
    messages = wire.sync()
    assert cells(messages)[1] == [struct.pack(">q", 1), b"row 1"]
    description = next(content for kind, content in messages if kind == b"T")
    assert description[2:].startswith(b"id\0") and description.endswith(struct.pack(">ihih", 25, -1, -1, 1))


def test_wrong_number_of_values_is_rejected(wire: Wire) -> None:
    wire.prepare("SELECT $1 + $2")
    wire.bind(b"1")
    assert error_of(wire.sync())["C"] == "08P01"


def test_set_is_shown_and_reported(wire: Wire) -> None:
    messages = wire.query("SET application_name = 'x'; SHOW application_name")
    assert kinds(messages) == "SCTDCZ" and cells(messages) == [[b"x"]]
    assert kinds(wire.query("SET extra_float_digits = 3; SET SESSION statement_timeout TO '5s'")) == "CCZ"
    assert cells(wire.query("SHOW statement_timeout")) == [[b"5s"]]
    assert error_of(wire.query("SET no_such_thing = 1"))["C"] == "42704"
    assert error_of(wire.query("SET server_version = 1"))["C"] == "55P02"
    assert error_of(wire.query("SET statement_timeout = 'x'"))["C"] == "22023"
    assert cells(wire.query("RESET ALL; SHOW statement_timeout")) == [[b"0"]]


def test_calls_of_drivers_are_answered(wire: Wire) -> None:
    text = "SELECT current_setting('jit') AS cur, set_config('jit', 'off', false) AS new"
    messages = wire.query(text)
    assert cells(messages) == [[b"off", b"off"]]
    assert cells(wire.query("select pg_catalog.version()"))[0][0].startswith(b"PostgreSQL 15.")  # type: ignore[union-attr]


RESETS = (
    "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;",
    "DISCARD ALL",
    "SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT pg_advisory_unlock_all();"
    "DISCARD SEQUENCES;DISCARD TEMP",
)


@pytest.mark.parametrize("text", RESETS)
def test_reset_of_a_pool_succeeds(wire: Wire, text: str) -> None:
    messages = wire.query(text)
    assert "E" not in kinds(messages) and messages[-1] == (b"Z", b"I")


def test_user_of_a_session_cannot_be_changed(wire: Wire) -> None:
    assert error_of(wire.query("SET SESSION AUTHORIZATION ann"))["C"] == "0A000"
    assert error_of(wire.query("SET ROLE ann"))["C"] == "0A000"
    assert error_of(wire.query("SELECT set_config('session_authorization', 'ann', false)"))["C"] == "55P02"


def test_failed_block_only_ends(wire: Wire) -> None:
    assert wire.query("BEGIN")[-1] == (b"Z", b"T")
    assert wire.query("SELECT broken")[-1] == (b"Z", b"E")
    assert error_of(wire.query("SELECT 1"))["C"] == "25P02"
    messages = wire.query("COMMIT")
    assert tags(messages) == ["ROLLBACK"] and messages[-1] == (b"Z", b"I")


def test_savepoint_ends_the_failure_of_a_block(wire: Wire) -> None:
    wire.query("BEGIN; SAVEPOINT a")
    wire.query("SELECT broken")
    assert wire.query("ROLLBACK TO SAVEPOINT a")[-1] == (b"Z", b"T")
    assert tags(wire.query("SELECT 1; RELEASE a; COMMIT")) == ["SELECT 1", "RELEASE", "COMMIT"]
    wire.query("BEGIN")
    assert error_of(wire.query("ROLLBACK TO b"))["C"] == "3B001"


def test_setting_of_a_block_ends_with_it(wire: Wire) -> None:
    wire.query("BEGIN; SET LOCAL lock_timeout = 5; COMMIT")
    assert cells(wire.query("SHOW lock_timeout")) == [[b"0"]]
    wire.query("BEGIN; SET lock_timeout = 5; ROLLBACK")
    assert cells(wire.query("SHOW lock_timeout")) == [[b"0"]]
    wire.query("BEGIN; SET lock_timeout = 5; COMMIT")
    assert cells(wire.query("SHOW lock_timeout")) == [[b"5"]]


def test_set_local_ends_with_the_block_and_set_does_not(wire: Wire) -> None:
    wire.query("BEGIN; SET lock_timeout = 5; SET LOCAL lock_timeout = 6; SET LOCAL work_mem = '1MB'; COMMIT")
    assert cells(wire.query("SHOW lock_timeout")) == [[b"5"]] and cells(wire.query("SHOW work_mem")) == [[b"4MB"]]
    messages = wire.query("SET LOCAL lock_timeout = 7")
    assert "SET LOCAL" in fields(messages[0])["M"] and cells(wire.query("SHOW lock_timeout")) == [[b"5"]]
    wire.query("BEGIN; SET lock_timeout = 8; SAVEPOINT a; SET lock_timeout = 9")
    wire.query("ROLLBACK TO a")
    assert cells(wire.query("SHOW lock_timeout")) == [[b"8"]]


def test_modes_of_a_transaction_end_with_it(wire: Wire) -> None:
    def shown(name: str) -> bytes | None:
        return cells(wire.query(f"SHOW {name}"))[0][0]

    wire.query("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY, DEFERRABLE")
    found = [shown(f"transaction_{name}") for name in ("isolation", "read_only", "deferrable")]
    assert found == [b"serializable", b"on", b"on"]
    wire.query("COMMIT AND CHAIN")
    assert shown("transaction_isolation") == b"serializable"
    wire.query("COMMIT")
    assert shown("transaction_isolation") == b"repeatable read" and shown("transaction_read_only") == b"off"
    wire.query("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY")
    assert shown("transaction isolation level") == b"read committed"
    assert shown("default_transaction_read_only") == b"on" and shown("transaction_read_only") == b"on"
    assert "transaction blocks" in fields(wire.query("SET TRANSACTION READ WRITE")[0])["M"]


def test_modes_cannot_change_after_a_query(wire: Wire) -> None:
    wire.query("BEGIN; SELECT 1")
    assert error_of(wire.query("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"))["C"] == "25001"
    wire.query("ROLLBACK")
    wire.query("BEGIN; SELECT 1; SET TRANSACTION READ ONLY")
    assert error_of(wire.query("SET TRANSACTION READ WRITE"))["C"] == "25001"


@pytest.mark.parametrize("text", ["INSERT INTO t VALUES (1)", "DROP TABLE t", "COPY t FROM STDIN", "OPTIMIZE t"])
def test_read_only_transaction_rejects_writes(lab: Lab, wire: Wire, text: str) -> None:
    wire.query("BEGIN READ ONLY")
    assert error_of(wire.query(text))["C"] == "25006"
    assert tags(wire.query("ROLLBACK")) == ["ROLLBACK"]
    wire.query("SET default_transaction_read_only = on")
    assert error_of(wire.query(text))["C"] == "25006"
    assert not [run for run in lab.engine.runs if "t" in run.text.split()]


@pytest.mark.parametrize(
    ("begin", "setting", "state"),
    [
        ("BEGIN", "idle_in_transaction_session_timeout", "25P03"),
        ("SELECT 1", "idle_session_timeout", "57P05"),
    ],
)
def test_client_that_sends_nothing_is_disconnected_with_the_reason(
    wire: Wire, begin: str, setting: str, state: str
) -> None:
    wire.query(f"SET {setting} = '100ms'")
    wire.query(begin)
    (found,) = wire.until_ready()
    assert (fields(found)["C"], fields(found)["S"]) == (state, "FATAL")


def test_name_of_the_client_is_that_of_its_session(lab: Lab, wire: Wire) -> None:
    wire.query("SET application_name = 'report'")
    assert [session.origin.user_agent for session in lab.registry.sessions()] == ["report"]


def test_query_with_several_statements_is_one_block(lab: Lab, wire: Wire) -> None:
    messages = wire.query("SELECT 1; USE x")
    assert messages[-1] == (b"Z", b"I")
    assert [run.context.block is not None for run in lab.engine.runs[-2:]] == [True, True]
    wire.query("SELECT 1;")
    assert lab.engine.runs[-1].context.block is None


def test_begin_in_a_query_begins_a_block_with_the_statements_before_it(lab: Lab, wire: Wire) -> None:
    assert wire.query("SELECT 1; BEGIN; SELECT 1")[-1] == (b"Z", b"T")
    first, second = [run.context.block for run in lab.engine.runs[-2:]]
    assert first is not None and first is second
    assert tags(wire.query("COMMIT; SELECT 1")) == ["COMMIT", "SELECT 1"]


def test_commit_in_a_query_without_begin_is_noticed(wire: Wire) -> None:
    messages = wire.query("SELECT 1; COMMIT; SELECT 1")
    assert kinds(messages) == "TDCNCTDCZ" and "no transaction" in fields(messages[3])["M"]


def test_savepoint_without_begin_is_rejected(wire: Wire) -> None:
    assert error_of(wire.query("SELECT 1; SAVEPOINT a"))["C"] == "25P01"
    assert wire.query("BEGIN; SELECT broken")[-1] == (b"Z", b"E")


def test_cursor_without_scroll_only_moves_forward(wire: Wire) -> None:
    wire.query("DECLARE c NO SCROLL CURSOR WITH HOLD FOR ROWS 10")

    def fetched(text: str) -> list[bytes | None] | str:
        messages = wire.query(text)
        errors = [fields(message)["C"] for message in messages if message[0] == b"E"]
        return errors[0] if errors else [row[0] for row in cells(messages)]

    assert fetched("FETCH ABSOLUTE 2 FROM c") == [b"1"]
    assert fetched("FETCH RELATIVE 1 FROM c") == [b"2"]
    assert tags(wire.query("MOVE 0 FROM c")) == ["MOVE 1"]
    for text in ("0", "PRIOR", "ABSOLUTE 3", "ABSOLUTE 1", "LAST", "RELATIVE -1", "RELATIVE 0", "BACKWARD ALL"):
        assert fetched(f"FETCH {text} FROM c") == "55000", text
    assert fetched("FETCH ABSOLUTE 5 FROM c") == [b"4"] and len(fetched("FETCH ALL FROM c")) == 5


def test_cursor_moves_in_both_directions(wire: Wire) -> None:
    assert error_of(wire.query("DECLARE c CURSOR FOR ROWS 10"))["C"] == "25P01"
    wire.query("DECLARE c SCROLL CURSOR WITH HOLD FOR ROWS 10")

    def fetched(text: str) -> list[bytes | None]:
        return [row[0] for row in cells(wire.query(text))]

    assert fetched("FETCH 2 FROM c") == [b"0", b"1"]
    assert fetched("FETCH FORWARD 1 IN c") == [b"2"]
    assert fetched("FETCH BACKWARD 2 FROM c") == [b"1", b"0"]
    assert fetched("FETCH ABSOLUTE 5 FROM c") == [b"4"]
    assert fetched("FETCH RELATIVE -1 FROM c") == [b"3"]
    assert fetched("FETCH LAST FROM c") == [b"9"]
    assert fetched("FETCH NEXT FROM c") == []
    assert fetched("FETCH PRIOR FROM c") == [b"9"]
    assert tags(wire.query("MOVE BACKWARD ALL IN c")) == ["MOVE 9"]
    assert len(fetched("FETCH ALL FROM c")) == 10
    assert tags(wire.query("CLOSE c")) == ["CLOSE CURSOR"]
    assert error_of(wire.query("FETCH c"))["C"] == "34000"


def test_prepared_statement_of_sql_is_run_and_removed(wire: Wire) -> None:
    assert tags(wire.query("PREPARE p AS SELECT 1; EXECUTE p; DEALLOCATE p")) == ["PREPARE", "SELECT 1", "DEALLOCATE"]
    assert error_of(wire.query("EXECUTE p"))["C"] == "26000"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", b"0\trow 0\n"),
        ("WITH CSV HEADER", b"id,name\n"),
        ("(FORMAT csv, DELIMITER ';')", b"0;row 0\n"),
    ],
)
def test_copy_returns_lines(wire: Wire, options: str, expected: bytes) -> None:
    messages = wire.query(f"COPY (ROWS 2) TO STDOUT {options}")
    lines = [content for kind, content in messages if kind == b"d"]
    assert lines[0] == expected and tags(messages) == ["COPY 2"]


def test_copy_returns_the_first_row_with_the_header_of_the_binary_format(wire: Wire) -> None:
    messages = wire.query('COPY (ROWS 2) TO STDOUT (FORMAT "binary")')
    assert kinds(messages) == "HdddcCZ"
    lines = [content for kind, content in messages if kind == b"d"]
    assert lines[0].startswith(b"PGCOPY\n\xff\r\n\0" + bytes(8) + struct.pack(">hiq", 2, 8, 0))
    assert lines[-1] == b"\xff\xff"


def _cancel(port: int, key: bytes) -> None:
    wire = Wire(port)
    wire.socket.sendall(struct.pack(">ii", len(key) + 8, _CANCEL) + key)
    assert wire.read() is None
    wire.close()


def test_cancel_request_ends_the_statement_that_runs(lab: Lab) -> None:
    wire = Wire(lab.port)
    key = next(content for kind, content in wire.start() if kind == b"K")
    found: list[dict[str, str]] = []
    thread = threading.Thread(target=lambda: found.append(error_of(wire.query("SLEEP 60"))))
    thread.start()
    assert eventually(lambda: bool(lab.engine.runs))
    _cancel(lab.port, key[:4] + bytes(4))  # another key
    _cancel(lab.port, key)
    thread.join(20)
    assert found[0]["C"] == "57014"
    _cancel(lab.port, key)  # nothing runs
    assert kinds(wire.query("SELECT 1")) == "TDCZ"
    wire.close()


def test_statement_timeout_ends_a_statement(wire: Wire) -> None:
    wire.query("SET statement_timeout = 50")
    assert error_of(wire.query("SLEEP 60"))["C"] == "57014"
    wire.query("SET statement_timeout = 0")
    assert kinds(wire.query("SELECT 1")) == "TDCZ"


def test_statement_of_a_client_that_is_gone_is_cancelled(lab: Lab) -> None:
    wire = Wire(lab.port)
    wire.start()
    wire.send(b"Q", b"SLEEP 60\0")
    assert eventually(lambda: bool(lab.engine.runs))
    wire.close()
    assert eventually(lambda: not lab.registry.sessions())


def test_connections_beyond_the_limit_are_rejected() -> None:
    lab = Lab(connections_max=1)
    try:
        with opened(lab.port):
            wire = Wire(lab.port)
            message = wire.read()
            assert message is not None and fields(message)["C"] == "53300"
            wire.close()
        assert eventually(lambda: lab.server.connection_count() == 0)
        with opened(lab.port):
            pass
    finally:
        lab.close()


def test_session_ends_with_its_connection(lab: Lab) -> None:
    with opened(lab.port):
        assert len(lab.registry.sessions()) == 1
    assert eventually(lambda: not lab.registry.sessions())


@pytest.mark.parametrize(("text", "zone"), [("europe/BERLIN", "Europe/Berlin"), ("utc", "UTC"), ("+02:00", "+02:00")])
def test_time_zone_has_the_spelling_of_its_name(text: str, zone: str) -> None:
    parameters = Parameters()
    parameters.set("timezone", text)
    assert parameters.get("TimeZone") == zone


def test_prepared_transactions_are_not_possible(wire: Wire) -> None:
    assert cells(wire.query("SHOW max_prepared_transactions")) == [[b"0"]]


def test_cursor_with_parameters(lab: Lab, wire: Wire) -> None:
    lab.engine.answers["SELECT id FROM t WHERE b = :p1 AND c = :p2"] = answer_of_rows(2)
    wire.query("BEGIN")
    wire.prepare("DECLARE c CURSOR FOR SELECT id FROM t WHERE b = $1 AND c = $2", oids=(23,))
    wire.bind(b"7", b"x")
    wire.execute()
    assert tags(wire.sync()) == ["DECLARE CURSOR"]
    assert [row[0] for row in cells(wire.query("FETCH ALL c"))] == [b"0", b"1"]
    (run,) = [run for run in lab.engine.runs if run.text.startswith("SELECT id")]
    assert [(one.value, one.sql_type) for one in run.parameters] == [("7", "int"), ("x", "string")]


def test_move_backward_past_the_first_row_returns_none(lab: Lab, wire: Wire) -> None:
    wire.query("BEGIN")
    wire.query("DECLARE c SCROLL CURSOR FOR ROWS 3")
    assert tags(wire.query("FETCH 1 c")) == ["FETCH 1"]
    assert tags(wire.query("MOVE BACKWARD 1 c")) == ["MOVE 0"]
    assert tags(wire.query("FETCH BACKWARD ALL c")) == ["FETCH 0"]
    assert tags(wire.query("FETCH ALL c")) == ["FETCH 3"]
