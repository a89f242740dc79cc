"""Whatever the body, the answer is JSON and never a server error."""

from __future__ import annotations

import json
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.http.delivery import API
from tests.gateway.http.conftest import STATEMENTS, Api

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)
FIELDS = ("statement", "session_id", "warehouse_id", "catalog", "schema", "parameters", "row_limit", "byte_limit")
MORE_FIELDS = ("disposition", "format", "on_wait_timeout", "query_tags", "result_compression", "session_confs")
LIKELY = st.sampled_from(
    ["SELECT 1", "ROWS 5", "0s", "INLINE", "EXTERNAL_LINKS", "CSV", "ARROW_STREAM", "CONTINUE", "CANCEL", 1, 10**30]
)
PARAMETERS = st.lists(st.dictionaries(st.sampled_from(["name", "value", "type", "ordinal"]), JSON | LIKELY), max_size=3)
BODY = st.dictionaries(st.sampled_from(FIELDS + MORE_FIELDS), JSON | LIKELY | PARAMETERS)


def check(api: Api, path: str, content: bytes) -> None:
    response = api.client.post(path, data=content, content_type="application/json")
    answer = json.loads(response.data)
    assert response.status_code < 500, answer
    assert "statement_id" in answer or "session_id" in answer or {"error_code", "message"} <= answer.keys()


ANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY
@given(body=JSON | BODY | BODY.map(lambda body: {"statement": "ROWS 5", "wait_timeout": "0s"} | body))
def test_random_json_to_an_endpoint_is_answered(api: Api, body: object) -> None:
    for path in (STATEMENTS, f"{API}/sessions"):
        check(api, path, json.dumps(body).encode())


METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/cancelled"]
)
TOOLS = st.sampled_from(["execute_sql_read_only", "list_tables", "list_catalogs", "poll_sql_result", "sample_rows"])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["query", "catalog", "schema", "table", "parameters", "row_limit", "wait_seconds", "statement_id"]),
    JSON | LIKELY | PARAMETERS,
)
CALLS = st.fixed_dictionaries({"name": TOOLS, "arguments": ARGUMENTS.map(lambda given: given | {"wait_seconds": 0})})
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": METHODS | st.text(), "params": JSON | CALLS},
    optional={"id": JSON | st.integers(0, 9)},
)


@ANY
@given(body=JSON | MESSAGES, version=st.sampled_from(["", "2025-11-25", "2026-07-28", "x"]))
def test_random_message_of_mcp_is_answered(api: Api, body: object, version: str) -> None:
    headers = {"MCP-Protocol-Version": version} if version else {}
    content = json.dumps(body)
    response = api.client.post("/api/2.0/mcp/sql", data=content, content_type="application/json", headers=headers)
    assert response.status_code < 500
    answer = json.loads(response.data or "null")
    assert (answer is None) is (response.status_code == 202)
    answers = answer if isinstance(answer, list) else [] if answer is None else [answer]  # a batch has several
    assert all(one["jsonrpc"] == "2.0" and ("result" in one) is not ("error" in one) for one in answers)


@ANY
@given(content=st.binary() | st.text().map(str.encode))
def test_random_bytes_to_an_endpoint_are_answered(api: Api, content: bytes) -> None:
    check(api, STATEMENTS, content)


@ANY
@given(
    path=st.text(st.characters(blacklist_categories=["Cs"])),
    query=st.dictionaries(st.sampled_from(["wait_timeout", "on_disconnect", "expires", "signature"]), st.text()),
)
def test_random_path_is_answered(api: Api, path: str, query: dict[str, str]) -> None:
    for prefix in ("/", f"{STATEMENTS}/", f"{API}/results/"):
        response = api.client.get(prefix + quote(path), query_string=query)
        assert response.status_code < 500
