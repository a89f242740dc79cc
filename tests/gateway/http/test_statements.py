"""Statements over HTTP: states, results, limits, sessions, and every way to end one."""

from __future__ import annotations

import base64
import json
import threading
import uuid
from typing import Any

import lz4.frame
import pyarrow as pa
import pytest

from engine.runtime.identity import Identity
from gateway.http.delivery import API
from gateway.http.statements import _STATES
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import fails, modifies, rows
from tests.gateway.http.conftest import STATEMENTS, Api, Maker, eventually

ARROW = "application/vnd.apache.arrow.stream"
NO_SUCH = str(uuid.UUID(int=0))


def path_of(answer: dict[str, Any], rest: str = "") -> str:
    return f"{STATEMENTS}/{answer['statement_id']}{rest}"


def poll_until_ended(api: Api, answer: dict[str, Any]) -> dict[str, Any]:
    while answer["status"]["state"] in ("PENDING", "RUNNING"):
        answer = api.ask("GET", path_of(answer, "?wait_timeout=5s"))
    return answer


def test_paths_of_databricks_jdbc_driver(api: Api) -> None:
    session = api.ask("POST", f"{API}/warehouses/any/sessions", {"schema": "default"})["session_id"]
    answer = api.ask("POST", f"{STATEMENTS}/", {"statement": "SELECT 1", "session_id": session, "wait_timeout": "50s"})
    assert answer["result"]["data_array"] == [["1"]]


def test_a_short_statement_answers_with_its_rows(api: Api) -> None:
    answer = api.submit("SELECT 1")
    assert answer["status"] == {"state": "SUCCEEDED"}
    assert answer["manifest"]["schema"] == {
        "column_count": 1,
        "columns": [{"name": "1", "position": 0, "type_name": "INT", "type_text": "INT"}],
    }
    assert answer["manifest"]["total_row_count"] == 1 and not answer["manifest"]["truncated"]
    assert answer["result"]["data_array"] == [["1"]] and "next_chunk_index" not in answer["result"]
    assert api.ask("GET", path_of(answer)) == answer


def test_nulls_are_null_and_other_cells_are_text(api: Api) -> None:
    table = pa.table({"n": pa.array([1, None], pa.int64()), "s": ["null", None], "b": [True, None]})
    api.engine.answers["SELECT mixed"] = rows(table)
    assert api.submit("SELECT mixed")["result"]["data_array"] == [["1", "null", "true"], [None, None, None]]


def test_a_failed_statement_is_accepted_and_says_why(api: Api) -> None:
    answer = api.submit("SELEKT 1")
    assert answer["status"]["state"] == "FAILED" and answer["status"]["sql_state"] == "42601"
    assert answer["status"]["error"]["error_code"] == "BAD_REQUEST"
    assert answer["status"]["error"]["message"].startswith("[PARSE_SYNTAX_ERROR.TEST] ")
    assert "manifest" not in answer and "result" not in answer


def test_a_bug_shows_an_id_and_no_trace(api: Api) -> None:
    api.engine.answers["SELECT bug"] = fails(ZeroDivisionError("secret"))
    status = api.submit("SELECT bug")["status"]
    assert status["error"]["error_code"] == "INTERNAL_ERROR"
    assert "secret" not in status["error"]["message"] and "error id" in status["error"]["message"]


@pytest.mark.parametrize(
    ("answer", "columns", "data"),
    [
        (None, [], None),
        (modifies(7), ["num_affected_rows"], [["7"]]),
        (modifies(7, inserted=5), ["num_affected_rows", "num_inserted_rows"], [["7", "5"]]),
        (modifies(7, inserted=7, defines_table=True), ["num_affected_rows", "num_inserted_rows"], []),
    ],
    ids=["no rows", "rows modified", "rows inserted", "CREATE TABLE AS"],
)
def test_a_statement_without_rows_of_its_own(api: Api, answer: Any, columns: list[str], data: list[Any]) -> None:
    if answer:
        api.engine.answers["SET x"] = answer
    body = api.submit("SET x")
    assert [column["name"] for column in body["manifest"]["schema"]["columns"]] == columns
    assert body["result"].get("data_array") == data
    if not columns:
        assert (body["manifest"]["total_chunk_count"], body["manifest"]["chunks"], body["result"]) == (0, [], {})


def test_a_stream_without_rows_is_left_to_the_manifest(api: Api) -> None:
    body = api.submit("ROWS 0", format="ARROW_STREAM", disposition="INLINE_OR_EXTERNAL_LINKS")
    assert body["manifest"]["schema"]["column_count"] == 2 and "attachment" not in body["result"]


def test_a_long_statement_is_polled(api: Api) -> None:
    answer = api.submit("SLEEP 0.2", wait_timeout="0s")
    assert answer["status"]["state"] in ("PENDING", "RUNNING") and "result" not in answer
    assert poll_until_ended(api, answer)["result"]["data_array"] == [["0.2"]]


def test_a_cancelled_statement_stops_its_work(api: Api) -> None:
    answer = api.submit("SLEEP 30", wait_timeout="0s")
    assert api.ask("POST", path_of(answer, "/cancel")) == {}
    status = api.ask("GET", path_of(answer))["status"]
    assert status["state"] == "CANCELED" and status["error"]["message"].startswith("[OPERATION_CANCELED]")
    assert eventually(lambda: all(run.context.cancel.reason is not None for run in api.engine.runs))
    assert eventually(lambda: all(session.closed for session in api.engine.sessions))


def test_cancelling_an_ended_statement_leaves_its_rows(api: Api) -> None:
    answer = api.submit("SELECT 1")
    api.ask("POST", path_of(answer, "/cancel"))
    assert api.ask("GET", path_of(answer)) == answer
    assert api.engine.runs[-1].context.cancel.reason is None


def test_statement_past_wait_is_cancelled_on_request(api: Api) -> None:
    answer = api.submit("SLEEP 30", wait_timeout="1s", on_wait_timeout="CANCEL")
    assert answer["status"]["state"] == "CANCELED"


def test_a_statement_past_the_servers_limit_has_failed(make_api: Maker) -> None:
    status = make_api(statement_timeout_s=0.05).submit("SLEEP 30")["status"]
    assert status["state"] == "FAILED" and status["sql_state"] == "57014"


def test_a_closed_statement_is_gone(api: Api) -> None:
    answer = api.submit("SELECT 1")
    assert api.ask("DELETE", path_of(answer)) == {}
    for method, rest in (("GET", ""), ("GET", "/result/chunks/0"), ("POST", "/cancel"), ("DELETE", "")):
        assert api.refuse(method, path_of(answer, rest)) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert api.registry.operations() == ()


def test_statements_that_nobody_reads_expire(make_api: Maker) -> None:
    api = make_api(statement_idle_s=0.05, reap_every_s=0.02)
    answer = api.submit("SELECT 1")
    assert eventually(lambda: api.registry.operations() == ())
    assert api.refuse("GET", path_of(answer)) == (404, "RESOURCE_DOES_NOT_EXIST")


@pytest.mark.parametrize("in_session", [False, True], ids=["one-statement", "session"])
def test_running_statement_without_requests_is_canceled(make_api: Maker, in_session: bool) -> None:
    api = make_api(statement_unpolled_s=2, reap_every_s=0.02)
    session = {"session_id": api.ask("POST", f"{API}/sessions", {})["session_id"]} if in_session else {}
    left = api.submit("SLEEP 300", wait_timeout="0s", **session)
    (operation,) = api.registry.operations()
    polled = api.submit("SLEEP 300", wait_timeout="0s")
    assert eventually(lambda: bool(api.ask("GET", path_of(polled))) and operation.state is OperationState.CANCELED)
    assert api.ask("GET", path_of(polled))["status"]["state"] == "RUNNING"
    status = api.ask("GET", path_of(left))["status"]
    assert status["state"] == "CANCELED"
    assert "canceled, because its client sent no request for 2 s." in status["error"]["message"]


def test_one_statement_sessions_close_at_once_and_do_not_count(make_api: Maker) -> None:
    api = make_api(sessions_max=1)
    answers = [api.submit("SELECT 1") for _ in range(3)]
    assert eventually(lambda: all(session.closed for session in api.engine.sessions))
    assert all(api.ask("GET", path_of(answer))["result"]["data_array"] == [["1"]] for answer in answers)


@pytest.mark.parametrize("limits", [{"kept_max": 2}, {"kept_bytes_max": 60}], ids=["count", "bytes"])
def test_oldest_results_are_evicted(make_api: Maker, limits: dict[str, int]) -> None:
    api = make_api(**limits)
    answers = []
    for _ in range(4):
        answers.append(api.submit("ROWS 2"))
        assert eventually(lambda: len(api.registry.operations()) <= 2)
    assert api.request("GET", path_of(answers[0])).status_code == 404
    assert api.request("GET", path_of(answers[-1])).status_code == 200


def test_chunks_hold_every_row_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 5000)
    answer = api.submit("ROWS 2500")
    infos = answer["manifest"]["chunks"]
    assert len(infos) == answer["manifest"]["total_chunk_count"] > 3
    result, seen = answer["result"], []
    while True:
        assert len(result["data_array"]) == result["row_count"] == infos[result["chunk_index"]]["row_count"]
        seen += result["data_array"]
        if "next_chunk_index" not in result:
            break
        assert result["next_chunk_internal_link"].endswith(f"/result/chunks/{result['next_chunk_index']}")
        result = api.ask("GET", result["next_chunk_internal_link"])
    assert seen == [[str(i), f"row {i}"] for i in range(2500)]
    assert api.refuse("GET", path_of(answer, f"/result/chunks/{len(infos)}")) == (404, "RESOURCE_DOES_NOT_EXIST")


@pytest.mark.parametrize(
    ("options", "count", "truncated"),
    [
        ({"row_limit": 3}, 3, True),
        ({"row_limit": 0}, 0, True),
        ({"row_limit": 1500}, 1500, True),
        ({"row_limit": 2000}, 2000, False),
        ({"row_limit": 9000}, 2000, False),
        ({"byte_limit": 1}, 0, True),
        ({"byte_limit": 1 << 40}, 2000, False),
    ],
)
def test_limits_cut_the_result_and_say_so(api: Api, options: dict[str, int], count: int, truncated: bool) -> None:
    manifest = api.submit("ROWS 2000", **options)["manifest"]
    assert (manifest["total_row_count"], manifest["truncated"]) == (count, truncated)


def test_limits_are_passed_to_engine(api: Api) -> None:
    """One row more than the limit shows that there are more."""
    for options, wanted in (
        ({}, (None, None)),
        ({"row_limit": 3, "byte_limit": 100}, (4, 100)),
        ({"row_limit": 2**63 - 1}, (2**63 - 1, None)),
    ):
        api.submit("ROWS 2000", **options)
        context = api.engine.runs[-1].context
        assert (context.rows_wanted, context.bytes_wanted) == wanted


def test_a_result_over_the_servers_limit_fails(make_api: Maker) -> None:
    status = make_api(result_bytes_max=1000).submit("ROWS 2000")["status"]
    assert status["state"] == "FAILED" and "RESULT_TOO_LARGE" in status["error"]["message"]


@pytest.mark.parametrize(
    ("compression", "decompress"),
    [
        ("LZ4_FRAME", lz4.frame.decompress),
        ("ZSTD", lambda content: pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()),
    ],
    ids=["lz4", "zstd"],
)
@pytest.mark.parametrize("disposition", ["INLINE", "EXTERNAL_LINKS"])
def test_arrow_is_compressed_on_request(api: Api, compression: str, decompress: Any, disposition: str) -> None:
    body = api.submit("ROWS 3", format="ARROW_STREAM", result_compression=compression, disposition=disposition)
    assert body["manifest"]["result_compression"] == compression
    if disposition == "INLINE":
        content = base64.b64decode(body["result"]["attachment"])
    else:
        content = api.request("GET", body["result"]["external_links"][0]["external_link"]).data
    assert pa.ipc.open_stream(decompress(content)).read_all().column("id").to_pylist() == [0, 1, 2]


def test_text_is_not_compressed(api: Api) -> None:
    body = api.submit("ROWS 3", result_compression="LZ4_FRAME")
    assert "result_compression" not in body["manifest"] and len(body["result"]["data_array"]) == 3


def test_arrow_inline_is_an_attachment(api: Api) -> None:
    result = api.submit("ROWS 3", format="ARROW_STREAM")["result"]
    table = pa.ipc.open_stream(base64.b64decode(result["attachment"])).read_all()
    assert table["name"].to_pylist() == ["row 0", "row 1", "row 2"]


def test_a_chunk_is_a_document_for_who_accepts_one(api: Api) -> None:
    chunk = path_of(api.submit("ROWS 2"), "/result/chunks/0")
    arrow = api.request("GET", chunk, Accept=ARROW)
    assert arrow.content_type == ARROW and pa.ipc.open_stream(arrow.data).read_all().num_rows == 2
    assert api.request("GET", chunk, Accept="text/csv").data == b"id,name\n0,row 0\n1,row 1\n"
    assert api.request("GET", chunk, Accept="*/*").is_json


@pytest.mark.parametrize("format_", ["JSON_ARRAY", "CSV", "ARROW_STREAM"])
@pytest.mark.parametrize("disposition", ["EXTERNAL_LINKS", "INLINE_OR_EXTERNAL_LINKS"])
def test_links_are_authorized_by_signature_alone(
    api: Api, monkeypatch: pytest.MonkeyPatch, disposition: str, format_: str
) -> None:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 20)
    answer = api.submit("ROWS 4", disposition=disposition, format=format_)
    link = answer["result"]["external_links"][0]
    assert link["next_chunk_index"] == 1 and "data_array" not in answer["result"]
    path = link["external_link"].removeprefix("http://localhost")
    document = api.request("GET", path)
    assert document.status_code == 200
    if format_ == "JSON_ARRAY":
        assert json.loads(document.data)[0] == ["0", "row 0"]
    for broken in (path[:-1], path + "0", path.partition("?")[0], path.replace("/0?", "/1?"), path.replace("=1", "=9")):
        assert api.refuse("GET", broken) == (403, "PERMISSION_DENIED")
    following = api.ask("GET", link["next_chunk_internal_link"])["external_links"][0]
    assert following["chunk_index"] == 1


@pytest.mark.parametrize("rows", [0, 1, 31, 32, 33, 80])
def test_links_list_the_chunks_that_follow_and_each_serves_its_own_again(
    api: Api, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Clients fetch them in parallel; databricks-sql-connector loses rows if links come one at a time."""
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 1)
    answer = api.submit(f"ROWS {rows}", disposition="EXTERNAL_LINKS")
    total = answer["manifest"]["total_chunk_count"]
    assert total == max(1, rows)
    found: dict[int, str] = {}
    for index in range(total):
        result = api.ask("GET", path_of(answer, f"/result/chunks/{index}"))
        links = result["external_links"]
        assert list(result) == ["external_links"]
        assert [link["chunk_index"] for link in links] == list(range(index, min(total, index + 32)))
        for link in links:
            following = link["chunk_index"] + 1
            path = path_of(answer, f"/result/chunks/{following}")
            assert link.get("next_chunk_index") == (following if following < total else None)
            assert link.get("next_chunk_internal_link") == (path if following < total else None)
            assert (link["row_offset"], link["row_count"]) == (link["chunk_index"], min(1, rows))
            found[link["chunk_index"]] = link["external_link"].removeprefix("http://localhost")
        if index == 0:
            assert [link["chunk_index"] for link in answer["result"]["external_links"]] == list(found)
    for index in [*reversed(range(total)), *range(total)]:
        expected = [[str(index), f"row {index}"]] if rows else []
        assert json.loads(api.request("GET", found[index]).data) == expected


def test_parameters_reach_the_engine_in_order(api: Api) -> None:
    parameters = [
        {"name": "a", "value": "5", "type": "INT"},
        {"name": None, "value": "second", "ordinal": 2},
        {"value": None, "ordinal": 1},
    ]
    api.submit("SELECT 1", parameters=parameters)
    found = [(item.name, item.value, item.sql_type) for item in api.engine.runs[-1].parameters]
    assert found == [("a", "5", "INT"), (None, None, "string"), (None, "second", "string")]


def test_a_session_keeps_its_state_until_it_is_closed(api: Api) -> None:
    opened = api.ask("POST", f"{API}/sessions", {"warehouse_id": "w", "session_confs": {"a": "b"}, "schema": "default"})
    answer = api.submit("SELECT 1", session_id=opened["session_id"])
    assert [session.settings for session in api.engine.sessions] == [{"a": "b"}]
    assert api.ask("GET", path_of(answer)) == answer
    assert not api.engine.sessions[0].closed
    assert api.ask("DELETE", f"{API}/sessions/{opened['session_id']}") == {}
    assert api.engine.sessions[0].closed
    assert api.refuse("GET", path_of(answer)) == (404, "RESOURCE_DOES_NOT_EXIST")
    assert api.refuse("DELETE", f"{API}/sessions/{opened['session_id']}") == (404, "RESOURCE_DOES_NOT_EXIST")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"statement": "SELECT 1", "session_id": NO_SUCH}, 404),
        ({"statement": "SELECT 1", "session_id": "no id"}, 404),
        ({"statement": "SELECT 1", "schema": "nowhere"}, 400),
    ],
)
def test_a_statement_without_a_session_to_run_in_is_refused(api: Api, body: object, status: int) -> None:
    assert api.request("POST", STATEMENTS, body).status_code == status
    assert api.registry.sessions() == () and api.engine.runs == []


def test_the_principal_is_the_name_that_the_client_gives(api: Api) -> None:
    api.submit("SELECT 1")
    api.request("POST", STATEMENTS, {"statement": "SELECT 1"}, Authorization="Basic YW5uOng=")
    assert [session.principal for session in api.engine.sessions] == ["anonymous", "ann"]


def test_other_machines_are_refused(api: Api) -> None:
    api.peer = "192.0.2.1"
    assert api.refuse("POST", STATEMENTS, {"statement": "SELECT 1"}) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("statement_id", [NO_SUCH, "no-id", "0", "%00"])
def test_unknown_statements_are_not_found(api: Api, statement_id: str) -> None:
    assert api.refuse("GET", f"{STATEMENTS}/{statement_id}") == (404, "RESOURCE_DOES_NOT_EXIST")


def test_a_statement_of_another_interface_is_not_shown(api: Api) -> None:
    operation = api.registry.open_session(Identity("ann")).execute("SELECT 1")
    assert api.refuse("GET", f"{STATEMENTS}/{operation.id}") == (404, "RESOURCE_DOES_NOT_EXIST")


def test_a_chunk_of_an_unfinished_statement_is_not_ready(api: Api) -> None:
    answer = api.submit("SLEEP 30", wait_timeout="0s")
    assert api.refuse("GET", path_of(answer, "/result/chunks/0")) == (409, "INVALID_STATE")


def test_waiting_requests_leave_threads_for_others(make_api: Maker) -> None:
    api = make_api(threads=4)  # one may wait
    waiting = threading.Thread(target=api.submit, args=("SLEEP 30",), kwargs={"wait_timeout": "50s"})
    waiting.start()
    assert eventually(lambda: len(api.engine.runs) == 1)
    assert api.submit("SLEEP 30", wait_timeout="50s")["status"]["state"] in ("PENDING", "RUNNING")
    refused = api.refuse("POST", STATEMENTS, {"statement": "SLEEP 30", "on_wait_timeout": "CANCEL"})
    assert refused == (429, "REQUEST_LIMIT_EXCEEDED")
    for operation in api.registry.operations():
        operation.cancel()
    waiting.join()


def test_a_draining_server_finishes_what_runs_and_takes_nothing_new(api: Api) -> None:
    answer = api.submit("SLEEP 0.5", wait_timeout="0s")
    draining = threading.Thread(target=api.registry.drain, args=(30,))
    draining.start()
    assert eventually(lambda: api.registry.is_draining)
    assert api.refuse("POST", STATEMENTS, {"statement": "SELECT 1"}) == (503, "TEMPORARILY_UNAVAILABLE")
    assert poll_until_ended(api, answer)["status"]["state"] in ("SUCCEEDED", "CLOSED")  # by the server, at its end
    draining.join()


def test_only_fetched_statements_are_evicted_in_session(make_api: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 2000)
    api = make_api(statements_per_session_max=3)
    session = api.ask("POST", f"{API}/sessions", {})["session_id"]
    unread = api.submit("ROWS 200", session_id=session)  # the first among several chunks
    failed = api.submit("NO SQL", session_id=session)
    remaining = [api.submit("SELECT 1", session_id=session) for _ in range(10)]
    assert [api.request("GET", path_of(one)).status_code for one in (unread, failed)] == [200, 404]
    assert [api.request("GET", path_of(one)).status_code for one in remaining] == [404] * 8 + [200] * 2
    for index in range(1, unread["manifest"]["total_chunk_count"]):
        api.ask("GET", path_of(unread, f"/result/chunks/{index}"))
    api.submit("SELECT 1", session_id=session)
    assert api.request("GET", path_of(unread)).status_code == 404
    running = [api.submit("SLEEP 60", session_id=session, wait_timeout="0s") for _ in range(3)]
    requested = {"statement": "SELECT 1", "session_id": session}
    assert api.refuse("POST", STATEMENTS, requested) == (429, "REQUEST_LIMIT_EXCEEDED")
    assert all(api.request("GET", path_of(one)).status_code == 200 for one in running)


@pytest.mark.parametrize("sql_type", ["STRUCT", "struct<a: int>", "Array<INT>", " MAP<STRING, INT>", "VARIANT"])
def test_a_parameter_of_a_nested_type_is_refused_by_name(api: Api, sql_type: str) -> None:
    for named in ({"name": "p"}, {}):
        body = {"statement": "SELECT 1", "parameters": [{"value": "{}", "type": sql_type} | named]}
        answer = json.loads(api.request("POST", STATEMENTS, body).data)
        assert answer["error_code"] == "BAD_REQUEST" and answer["sql_state"] == "0A000"
        assert f"type {sql_type} of the parameter {named.get('name', 1)} is not supported" in answer["message"]
    assert api.engine.runs == [] and eventually(lambda: api.registry.sessions() == ())


def test_every_state_of_an_operation_has_a_name() -> None:
    """Including states that only Thrift operations have, whose profiles can be requested."""
    assert set(_STATES) == set(OperationState)
