"""Request bodies: each field with its type; unknown fields are rejected with a named error."""

from __future__ import annotations

import json
import uuid

import pytest

from catalog.errors import SqlError
from engine.runtime.parameters import Parameter
from gateway.http.requests import (
    Compression,
    Disposition,
    Format,
    OnWaitTimeout,
    SessionRequest,
    StatementRequest,
    parse_session_request,
    parse_statement_request,
    parse_wait,
)

SESSION = uuid.UUID("6f3c1910-adae-44ec-943d-13524d5fbd64")


def parse(**body: object) -> StatementRequest:
    return parse_statement_request(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {}),
        ({"warehouse_id": "w", "query_tags": [{"key": "a"}]}, {}),
        ({"result_compression": "LZ4_FRAME"}, {"compression": Compression.LZ4_FRAME}),
        ({"catalog": "c", "schema": "s"}, {"catalog": "c", "schema": "s"}),
        ({"session_id": str(SESSION), "catalog": None}, {"session_id": SESSION}),
        ({"row_limit": 1, "byte_limit": 2**63 - 1}, {"row_limit": 1, "byte_limit": 2**63 - 1}),
        ({"format": "ARROW_STREAM"}, {"format": Format.ARROW_STREAM}),
        (
            {"format": "CSV", "disposition": "EXTERNAL_LINKS"},
            {"format": Format.CSV, "disposition": Disposition.EXTERNAL_LINKS},
        ),
        ({"wait_timeout": "0s"}, {"wait_timeout_s": 0.0}),
        ({"wait_timeout": "50s"}, {"wait_timeout_s": 50.0}),
        ({"on_wait_timeout": "CANCEL"}, {"on_wait_timeout": OnWaitTimeout.CANCEL}),
        ({"parameters": []}, {}),
        (
            {"parameters": [{"name": "n", "value": "1", "type": "DECIMAL(5,2)"}, {"value": None}]},
            {"parameters": (Parameter(value="1", sql_type="DECIMAL(5,2)", name="n"), Parameter(value=None))},
        ),
        (
            {"parameters": [{"value": "b", "ordinal": 2}, {"value": "a", "ordinal": 1}]},
            {"parameters": (Parameter(value="a"), Parameter(value="b"))},
        ),
    ],
)
def test_a_statement_request(body: dict[str, object], expected: dict[str, object]) -> None:
    assert parse(statement="SELECT 1", **body) == StatementRequest(text="SELECT 1", **expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"statment": "x"}, "statment of the request does not exist; the nearest known one is statement"),
        ({"statement": ""}, "statement"),
        ({"statement": None}, "statement"),
        ({"statement": 1}, "statement"),
        ({"statement": "\ud800"}, "statement"),
        ({"catalog": ["c"]}, "catalog"),
        ({"row_limit": -1}, "row_limit"),
        ({"row_limit": -1}, "row_limit"),
        ({"row_limit": 1.5}, "row_limit"),
        ({"row_limit": True}, "row_limit"),
        ({"row_limit": "1"}, "row_limit"),
        ({"byte_limit": 2**63}, "byte_limit"),
        ({"format": "XML"}, "format of the request must be one of JSON_ARRAY, ARROW_STREAM, CSV"),
        ({"format": {}}, "format"),
        ({"format": "CSV"}, "EXTERNAL_LINKS"),
        ({"disposition": "inline"}, "disposition"),
        ({"wait_timeout": "51s"}, "wait_timeout"),
        ({"wait_timeout": "10"}, "wait_timeout"),
        ({"wait_timeout": "-1s"}, "wait_timeout"),
        ({"wait_timeout": "١s"}, "wait_timeout"),
        ({"wait_timeout": 10}, "wait_timeout"),
        ({"on_wait_timeout": "STOP"}, "on_wait_timeout"),
        ({"on_wait_timeout": "CANCEL", "wait_timeout": "0s"}, "on_wait_timeout"),
        ({"parameters": {}}, "parameters"),
        ({"parameters": [1]}, "parameters[0]"),
        ({"parameters": [{"value": 1}]}, "parameters[0].value"),
        ({"parameters": [{"value": "1"}, {"valeu": "1"}]}, "parameters[1].valeu"),
        ({"session_id": str(SESSION), "schema": "s"}, "schema"),
        ({"session_id": 5}, "session_id"),
    ],
)
def test_malformed_input_is_reported(body: dict[str, object], named: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(**{"statement": "SELECT 1", **body})
    assert caught.value.condition == "INVALID_PARAMETER_VALUE.HTTP_FIELD"
    assert named in caught.value.message


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"1", b'"x"', b"null", b"\xff", b"[" * 100_000, b"{'a': 1}"])
def test_json_that_is_not_an_object_is_malformed(content: bytes) -> None:
    with pytest.raises(SqlError) as caught:
        parse_statement_request(content)
    assert caught.value.condition == "MALFORMED_REQUEST"


def test_a_session_request() -> None:
    body = {"warehouse_id": "w", "schema": "s", "session_confs": {"k": "v"}, "execution_mode": "x"}
    expected = SessionRequest(catalog=None, schema="s", settings={"k": "v"})
    assert parse_session_request(json.dumps(body).encode()) == expected
    assert parse_session_request(b"{}") == SessionRequest(catalog=None, schema=None, settings={})


@pytest.mark.parametrize("confs", [[], {"k": 1}, {"k": None}, "k=v"])
def test_settings_of_a_session_are_text(confs: object) -> None:
    with pytest.raises(SqlError, match="session_confs"):
        parse_session_request(json.dumps({"session_confs": confs}).encode())


def test_a_wait_that_is_not_given_is_the_default() -> None:
    assert parse_wait("wait_timeout", None, 7.0) == 7.0
