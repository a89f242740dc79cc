"""MCP over HTTP: messages of both eras, bounded results, cancellation and scopes, over the scripted engine."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pyarrow as pa
import pytest
from mcp.client import Client as McpClient
from werkzeug.test import TestResponse

from catalog.conditions import ScopeExceeded, UnresolvedColumn
from engine.runtime.identity import Identity, Scope
from gateway.authenticators.anonymous import Anonymous
from gateway.configuration.config import McpMode, McpSection
from gateway.http.app import HttpOptions, create_app
from gateway.http.mcp.function_tools import tool_name
from gateway.http.mcp.messages import LEGACY_VERSIONS, MODERN_VERSIONS
from gateway.http.mcp.runner import cut_rows
from gateway.lifecycle import Lifecycle, Ports
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import ArrowEngine, fails, rows
from tests.gateway.http.conftest import Api, Live, LocalClient, Maker, eventually

SQL = "/api/2.0/mcp/sql"
[NEWEST] = MODERN_VERSIONS
META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def post(api: Api, message: object, **headers: str) -> TestResponse:
    return api.request("POST", SQL, message, **{name.replace("_", "-"): value for name, value in headers.items()})


def modern(api: Api, method: str, params: dict[str, Any] | None = None, **headers: str) -> TestResponse:
    """Sends a request of the stateless version, with the headers that repeat it unless others are given."""
    params = params or {}
    own = {"MCP_Protocol_Version": NEWEST, "Mcp_Method": method}
    own |= {"Mcp_Name": params["name"]} if "name" in params else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": META}}
    return post(api, message, **own | headers)


def legacy(api: Api, method: str, params: dict[str, Any] | None = None, **headers: str) -> TestResponse:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return post(api, message, MCP_Protocol_Version="2025-11-25", **headers)


def call(api: Api, name: str, **arguments: object) -> dict[str, Any]:
    """Returns a tool's result."""
    answer = json.loads(modern(api, "tools/call", {"name": name, "arguments": arguments}).data)
    result: dict[str, Any] = answer["result"]
    assert result["content"] == [
        {"type": "text", "text": json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))}
    ]
    return result


def refused(response: TestResponse) -> tuple[int, int]:
    """Returns the status and the code of an error."""
    return response.status_code, json.loads(response.data)["error"]["code"]


@pytest.fixture
def writing() -> Iterator[Api]:
    """An application in the mode `read_write`, with small results."""
    engine, lifecycle = ArrowEngine(), Lifecycle()
    registry = Registry(engine, Limits(linger_s=0))
    lifecycle.become_ready(registry, Ports(thrift=10000, http=8080))
    settings = McpSection(mode=McpMode.READ_WRITE, rows_max=20, bytes_max=1024)
    app = create_app(lifecycle, Anonymous(), HttpOptions(threads=8, mcp=settings))
    yield Api(engine, registry, lifecycle, LocalClient(app, TestResponse))
    registry.drain(0)


def test_official_client_drives_tools_in_both_eras(live: Live) -> None:
    live.engine.tables["lab", "t"] = pa.table({"i": [1]})

    async def drive(mode: Any) -> tuple[str, list[str], list[Any]]:
        async with McpClient(f"{live.url}{SQL}", mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            arguments = {"catalog": "spark_catalog", "schema": "lab"}
            answers = [
                await client.call_tool("execute_sql_read_only", {"query": "ROWS 2"}),
                await client.call_tool("list_tables", arguments),
                await client.call_tool("execute_sql_read_only", {"query": "nonsense"}),
            ]
            return client.protocol_version, tools, answers

    for mode, version in (("auto", NEWEST), ("legacy", "2025-11-25")):
        negotiated, tools, (selected, listed, failed) = anyio.run(drive, mode)
        assert negotiated == version
        assert tools == [
            *("execute_sql_read_only", "poll_sql_result", "explain_sql", "list_catalogs", "list_schemas"),
            *("list_tables", "list_columns", "describe_table", "sample_rows", "table_history"),
        ]
        assert selected.structured_content["result"] == {"data_array": [["0", "row 0"], ["1", "row 1"]]}
        assert listed.structured_content["tables"][0]["name"] == "t"
        assert (failed.is_error, failed.structured_content["status"]["sql_state"]) == (True, "42601")


def test_discovery_and_initialize_agree_on_a_version(api: Api) -> None:
    discovered = json.loads(modern(api, "server/discover").data)["result"]
    assert discovered["supportedVersions"] == [NEWEST, *reversed(LEGACY_VERSIONS)]
    assert (discovered["resultType"], discovered["cacheScope"]) == ("complete", "private")
    for version in LEGACY_VERSIONS:
        response = post(
            api, {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": version}}
        )
        answer = json.loads(response.data)
        assert (answer["id"], answer["result"]["protocolVersion"]) == ("a", version)
        assert "resultType" not in answer["result"] and response.headers["Mcp-Session-Id"]
    for other in ("2024-11-05", "2099-01-01", None, 5):
        response = post(api, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": other}})
        assert json.loads(response.data)["result"]["protocolVersion"] == LEGACY_VERSIONS[-1]


@pytest.mark.parametrize("version", [None, *LEGACY_VERSIONS])
def test_older_versions_are_answered(api: Api, version: str | None) -> None:
    headers = {} if version is None else {"MCP_Protocol_Version": version}
    assert post(api, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers).status_code == 202
    for method, result in (("ping", {}), ("tools/list", None)):
        answer = json.loads(post(api, {"jsonrpc": "2.0", "id": 7, "method": method}, **headers).data)
        assert answer["id"] == 7 and (result is None or answer["result"] == result)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"MCP_Protocol_Version": "2025-11-25"}, 400, -32020),
        ({"Mcp_Method": "tools/call"}, 400, -32020),
        ({"MCP_Protocol_Version": "2099-01-01"}, 400, -32020),
    ],
)
def test_header_that_differs_from_body_is_rejected(api: Api, headers: dict[str, str], status: int, code: int) -> None:
    assert refused(modern(api, "tools/list", {}, **headers)) == (status, code)


def test_name_header_must_repeat_the_tool(api: Api) -> None:
    params = {"name": "list_catalogs", "arguments": {}}
    assert modern(api, "tools/call", params).status_code == 200
    assert modern(api, "tools/call", params, Mcp_Name="=?base64?bGlzdF9jYXRhbG9ncw==?=").status_code == 200
    for other in ("list_tables", "", "=?base64?!?="):
        assert refused(modern(api, "tools/call", params, Mcp_Name=other)) == (400, -32020)


def test_unknown_version_is_rejected_with_the_supported_ones(api: Api) -> None:
    response = post(api, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, MCP_Protocol_Version="2099-01-01")
    error = json.loads(response.data)["error"]
    assert (response.status_code, error["code"]) == (400, -32022)
    assert error["data"] == {"supported": [NEWEST, *reversed(LEGACY_VERSIONS)], "requested": "2099-01-01"}
    meta = META | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    response = post(api, message, MCP_Protocol_Version="2030-01-01", Mcp_Method="tools/list")
    assert refused(response) == (400, -32022)


def test_incomplete_request_of_the_newest_version_is_rejected(api: Api) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert refused(post(api, message, MCP_Protocol_Version=NEWEST, Mcp_Method="tools/list")) == (400, -32602)
    for method in ("initialize", "ping", "resources/list", "x"):
        assert refused(modern(api, method)) == (404, -32601)
    for method in ("server/discover", "resources/list", "x"):
        assert refused(legacy(api, method)) == (200, -32601)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": ' + b"1" * 5000 + b', "method": "ping"}', -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
        (b'{"jsonrpc": "2.0", "id": "' + b"x" * 300 + b'", "method": "ping"}', -32600),
    ],
)
def test_malformed_message_is_a_json_rpc_error(api: Api, content: bytes, code: int) -> None:
    response = api.client.post(SQL, data=content, content_type="application/json")
    answer = json.loads(response.data)
    assert (response.status_code, answer["error"]["code"], answer["jsonrpc"]) == (400, code, "2.0")


def test_half_a_surrogate_pair_in_a_message_is_answered(api: Api) -> None:
    response = api.client.post(
        SQL, data=rb'{"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}', content_type="application/json"
    )
    assert json.loads(response.data) == {"jsonrpc": "2.0", "id": "\ud800", "result": {}}
    assert call(api, "execute_sql_read_only", query="\ud800")["isError"]


def test_other_methods_and_media_types_are_rejected(api: Api) -> None:
    for method in ("GET", "DELETE", "PUT"):
        response = api.request(method, SQL)
        assert (response.status_code, "POST" in response.headers["Allow"]) == (405, True)
    assert api.client.post(SQL, data=b"{}", content_type="text/plain").status_code == 415
    assert post(api, {"jsonrpc": "2.0", "id": 5, "result": {}}).status_code == 202


def test_request_of_another_site_is_rejected_also_with_credentials(api: Api) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
        for more in ({}, {"Authorization": "Bearer x"}):
            assert legacy(api, "ping", {}, **headers | more).status_code == 403
    assert legacy(api, "ping", Origin="http://localhost", Authorization="Bearer x").status_code == 200


def test_mode_off_has_no_route() -> None:
    app = create_app(Lifecycle(), Anonymous(), HttpOptions(mcp=McpSection(mode=McpMode.OFF)))
    assert LocalClient(app, TestResponse).post(SQL, json={}).status_code == 404


def scopes_of_runs(api: Api) -> list[bool]:
    """Returns for each run whether its session may change data."""
    return [Scope.SQL in run.context.identity.scopes for run in api.engine.runs]


def test_read_only_mode_lists_no_writing_tool_and_runs_with_a_reading_scope(api: Api) -> None:
    assert refused(modern(api, "tools/call", {"name": "execute_sql", "arguments": {"query": "SELECT 1"}})) == (
        400,
        -32602,
    )
    assert not api.engine.runs
    call(api, "execute_sql_read_only", query="SELECT 1")
    call(api, "list_schemas", catalog="spark_catalog")
    call(api, "sample_rows", catalog="c", schema="s", table="t")
    assert scopes_of_runs(api) == [False] * 3
    assert api.engine.runs[-1].text == "SELECT * FROM `c`.`s`.`t`"


def test_read_write_mode_writes_by_one_tool_only(writing: Api) -> None:
    tools = json.loads(modern(writing, "tools/list").data)["result"]["tools"]
    hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in tools}
    assert [name for name, is_reading in hints.items() if not is_reading] == ["execute_sql"]
    call(writing, "execute_sql", query="SELECT 1")
    call(writing, "execute_sql_read_only", query="SELECT 1")
    call(writing, "explain_sql", query="SELECT 1")
    assert scopes_of_runs(writing) == [True, False, False]


def test_each_tool_has_schemas_that_describe_its_arguments(writing: Api) -> None:
    first, again = (json.loads(modern(writing, "tools/list").data)["result"]["tools"] for _ in range(2))
    assert first == again
    for tool in first:
        assert set(tool) == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
        schema = tool["inputSchema"]
        assert (
            schema["additionalProperties"] is False and set(schema.get("required", ())) <= schema["properties"].keys()
        )
        assert all("description" in argument for argument in schema["properties"].values())
    limit = next(tool for tool in first if tool["name"] == "execute_sql")["inputSchema"]["properties"]["row_limit"]
    assert (limit["maximum"], limit["default"]) == (20, 20)


def test_result_has_the_fields_of_the_statement_api(api: Api) -> None:
    found = call(api, "execute_sql_read_only", query="ROWS 3", row_limit=2)["structuredContent"]
    assert found.pop("statement_id")
    assert found == {
        "status": {"state": "SUCCEEDED"},
        "manifest": {
            "schema": {
                "column_count": 2,
                "columns": [
                    {"name": "id", "position": 0, "type_name": "LONG", "type_text": "BIGINT"},
                    {"name": "name", "position": 1, "type_name": "STRING", "type_text": "STRING"},
                ],
            },
            "total_row_count": 2,
            "truncated": True,
        },
        "result": {"data_array": [["0", "row 0"], ["1", "row 1"]]},
    }
    assert not call(api, "execute_sql_read_only", query="ROWS 2", row_limit=2)["structuredContent"]["manifest"][
        "truncated"
    ]


def test_parameters_and_place_reach_the_statement(api: Api) -> None:
    api.engine.tables["lab", "t"] = pa.table({"i": [1]})
    parameters = [{"name": "a", "value": "5", "type": "int"}, {"value": None}]
    call(api, "execute_sql_read_only", query="SELECT 1", schema="lab", parameters=parameters)
    assert [(one.name, one.value, one.sql_type) for one in api.engine.runs[-1].parameters] == [
        ("a", "5", "int"),
        (None, None, "string"),
    ]
    assert api.engine.sessions[-1].current_schema == "lab"


def test_rows_are_bounded_by_size(writing: Api) -> None:
    found = call(writing, "execute_sql_read_only", query="ROWS 5000")["structuredContent"]
    assert (found["manifest"]["total_row_count"], found["manifest"]["truncated"]) == (20, True)
    writing.engine.answers["SELECT long"] = rows(pa.table({"s": ["é" * 5000, "x"]}))
    found = call(writing, "execute_sql_read_only", query="SELECT long")["structuredContent"]
    assert found["result"]["data_array"] == [["é" * 256]] and found["manifest"]["truncated"]


def test_cut_rows_keeps_whole_rows_while_they_fit() -> None:
    table: list[list[str | None]] = [["ab", None], ["cd", "é"], ["e", "f"]]
    assert cut_rows(table, 100) == (table, False)
    assert cut_rows(table, 22) == (table[:2], True)
    assert cut_rows(table, 20) == (table[:1], True)
    assert cut_rows([["x" * 100, "y"]], 16) == ([["xx", "y"]], True)


def test_errors_are_results_with_condition_state_position_and_hint(api: Api) -> None:
    api.engine.answers["SELECT nope"] = fails(UnresolvedColumn("nope", "a, b"))
    found = call(api, "execute_sql_read_only", query="SELECT nope")
    status = found["structuredContent"]["status"]
    assert found["isError"] and status["state"] == "FAILED" and status["sql_state"] == "42703"
    assert status["error"]["condition"].startswith("UNRESOLVED_COLUMN") and status["error"]["message"]
    for name, arguments in (
        ("execute_sql_read_only", {}),
        ("execute_sql_read_only", {"query": ""}),
        ("execute_sql_read_only", {"query": 5}),
        ("execute_sql_read_only", {"query": "SELECT 1", "row_limit": 0}),
        ("execute_sql_read_only", {"query": "SELECT 1", "row_limit": 1001}),
        ("execute_sql_read_only", {"query": "SELECT 1", "wait_seconds": 51}),
        ("execute_sql_read_only", {"query": "SELECT 1", "x": 1}),
        ("list_catalogs", {"x": 1}),
        ("list_tables", {"catalog": "c"}),
    ):
        status = call(api, name, **arguments)["structuredContent"]["status"]
        assert status["error"]["condition"] == "INVALID_PARAMETER_VALUE.HTTP_FIELD"
    for params in ({"name": "nope"}, {"name": "list_catalogs", "arguments": [1]}, {}, {"name": 5}):
        assert refused(legacy(api, "tools/call", params)) == (200, -32602)
    assert refused(modern(api, "tools/call", {"name": "nope"})) == (400, -32602)


def test_read_only_error_names_the_setting() -> None:
    assert 'mcp.mode = "read_write"' in str(ScopeExceeded())


def test_text_beyond_the_limit_is_an_error_of_the_tool(api: Api) -> None:
    found = call(api, "execute_sql_read_only", query="SELECT " + "1" * (9 << 20))
    assert found["isError"] and "TOO_LONG" in found["structuredContent"]["status"]["error"]["condition"]


def test_long_statement_is_polled_to_its_end(api: Api) -> None:
    found = call(api, "execute_sql_read_only", query="SLEEP 1", wait_seconds=0)["structuredContent"]
    assert found["status"]["state"] in ("PENDING", "RUNNING") and "result" not in found
    found = call(api, "poll_sql_result", statement_id=found["statement_id"], wait_seconds=50)["structuredContent"]
    assert found["result"] == {"data_array": [["1.0"]]}
    for unknown in ("x", "00000000-0000-0000-0000-000000000000"):
        assert call(api, "poll_sql_result", statement_id=unknown)["isError"]


def test_statement_of_another_user_is_unknown(api: Api) -> None:
    session = api.registry.open_session(Identity("bob"))
    operation = session.execute("SELECT 1")
    assert operation.wait(60) is OperationState.FINISHED
    status = call(api, "poll_sql_result", statement_id=str(operation.id))["structuredContent"]["status"]
    assert status["error"]["condition"] == "INVALID_HANDLE.OPERATION_NOT_FOUND"


def test_calls_are_in_the_history_with_their_front_end(api: Api) -> None:
    call(api, "execute_sql_read_only", query="SELECT 1")
    assert eventually(lambda: bool(list(api.registry.statements(Identity("anonymous", is_admin=True)))))
    (info,) = api.registry.statements(Identity("anonymous", is_admin=True))
    assert (info.wire, info.text) == ("mcp", "SELECT 1")


def running(api: Api) -> list[Any]:
    return [operation for operation in api.registry.operations() if operation.state is OperationState.RUNNING]


def test_cancelled_notification_ends_the_call_of_its_client_only(make_api: Maker) -> None:
    api = make_api()
    params = {"name": "execute_sql_read_only", "arguments": {"query": "SLEEP 60", "wait_seconds": 50}}
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(legacy, api, "tools/call", params, Mcp_Session_Id=name) for name in ("one", "two")]
        assert eventually(lambda: len(running(api)) == 2)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert post(api, cancelled).status_code == 202
        assert post(api, cancelled, Mcp_Session_Id="other").status_code == 202
        assert len(running(api)) == 2
        assert post(api, cancelled, Mcp_Session_Id="one").status_code == 202
        answer = json.loads(calls[0].result(60).data)["result"]
        assert (answer["isError"], answer["structuredContent"]["status"]["state"]) == (True, "CANCELED")
        assert len(running(api)) == 1
        post(api, cancelled, Mcp_Session_Id="two")
        assert json.loads(calls[1].result(60).data)["result"]["isError"]


def test_client_that_disconnects_ends_its_statement(live: Live) -> None:
    params = {"name": "execute_sql_read_only", "arguments": {"query": "SLEEP 60", "wait_seconds": 50}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = ("Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}")
    head = "\r\n".join((f"POST {SQL} HTTP/1.1", *headers, "", ""))
    with socket.create_connection(("127.0.0.1", live.port)) as client:
        client.sendall(head.encode() + body)
        assert eventually(lambda: any(one.state is OperationState.RUNNING for one in live.registry.operations()))
        (operation,) = live.registry.operations()
    assert eventually(lambda: operation.state is OperationState.CANCELED)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_official_client_that_gives_up_ends_its_statement(live: Live, mode: Any) -> None:
    async def drive() -> None:
        async with McpClient(f"{live.url}{SQL}", mode=mode) as client:
            with anyio.move_on_after(2):
                await client.call_tool("execute_sql_read_only", {"query": "SLEEP 60", "wait_seconds": 50})
            deadline = time.monotonic() + 60
            while any(not one.state.is_terminal for one in live.registry.operations()) and time.monotonic() < deadline:
                await anyio.sleep(0.05)

    anyio.run(drive)
    assert [one.state for one in live.registry.operations()] == [OperationState.CANCELED]


def test_many_calls_at_once_are_all_answered(live: Live) -> None:
    params = {"name": "execute_sql_read_only", "arguments": {"query": "SELECT 1", "wait_seconds": 50}}
    states, lock = list[str](), threading.Lock()

    def send(count: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=120)
        for number in range(count):
            body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            connection.request("POST", SQL, body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
            with lock:
                states.append(answer["result"]["structuredContent"]["status"]["state"])
        connection.close()

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(send, [4] * 50))
    assert len(states) == 200 and set(states) <= {"SUCCEEDED", "RUNNING", "PENDING"}
    assert "SUCCEEDED" in states


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("c", "s", "f"), "c__s__f"),
        (("c", "s", "a b"), "c__s__a_b_4f2b285b"),
        (("c", "s", "x" * 200), f"c__s__{'x' * 113}_"),
    ],
)
def test_tool_name_has_allowed_characters_and_length(parts: tuple[str, ...], name: str) -> None:
    found = tool_name(parts)
    assert found.startswith(name[:119]) and len(found) <= 128 and found.replace("_", "").isalnum()
    assert tool_name(("c", "s", "a-b b")) != tool_name(("c", "s", "a-b_b"))


def test_batch_is_answered_in_its_order_and_notifications_are_not(api: Api) -> None:
    ping = {"jsonrpc": "2.0", "method": "ping"}
    wrong = {"jsonrpc": "2.0", "id": "c", "method": "nothing"}
    called = {"name": "execute_sql_read_only", "arguments": {"query": "SELECT 1"}}
    calls = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": called}
    batch = [{**ping, "id": "a"}, ping, calls, wrong, {**ping, "id": "b"}, {"jsonrpc": "2.0", "id": 1, "result": {}}]
    response = post(api, batch, MCP_Protocol_Version="2025-03-26")
    answers = json.loads(response.data)
    assert (response.status_code, [one["id"] for one in answers]) == (200, ["a", 7, "c", "b"])
    assert [one.get("error", {}).get("code") for one in answers] == [None, None, -32601, None]
    assert not answers[1]["result"]["isError"]
    only_notifications = post(api, [ping, ping])
    assert (only_notifications.status_code, only_notifications.data) == (202, b"")


def test_batch_restricts_each_call_by_itself(writing: Api) -> None:
    reading = {"name": "execute_sql_read_only", "arguments": {"query": "SELECT 1"}}
    changing = {"name": "execute_sql", "arguments": {"query": "SELECT 1"}}
    batch = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number, params in enumerate((reading, changing))
    ]
    alone = json.loads(post(writing, batch[1]).data)["result"]["structuredContent"]["status"]
    together = json.loads(post(writing, batch).data)[1]["result"]["structuredContent"]["status"]
    assert together == alone


@pytest.mark.parametrize("version", [*LEGACY_VERSIONS[1:], NEWEST])
def test_batch_of_another_version_is_rejected(api: Api, version: str) -> None:
    response = post(api, [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], MCP_Protocol_Version=version)
    assert refused(response) == (400, -32600)


def test_batch_that_is_too_long_or_begins_a_session_is_rejected(api: Api) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert refused(post(api, [ping] * 21)) == (400, -32600)
    assert len(json.loads(post(api, [ping] * 20).data)) == 20
    (answer,) = json.loads(post(api, [{**ping, "method": "initialize"}]).data)
    assert answer["error"]["code"] == -32600 and "initialize" in answer["error"]["message"]
