"""Request ids: the client's or a new one, in the response and in the log of the work that it starts."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from gateway.observability.log_format import JsonFormatter
from tests.gateway.arrow_engine import answer_of_rows
from tests.gateway.http.conftest import STATEMENTS, Api, Live, Maker, eventually

ID = "X-Request-Id"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    logging.getLogger("gateway").setLevel(logging.INFO)
    yield stream
    logging.getLogger("gateway").setLevel(logging.NOTSET)
    logging.getLogger().removeHandler(handler)


def lines(log: io.StringIO, message: str) -> list[dict[str, str]]:
    return [line for line in map(json.loads, log.getvalue().splitlines()) if message in line["message"]]


def test_valid_request_id_is_returned(api: Api) -> None:
    assert api.request("GET", "/healthz", None, **{ID: "abc-123:x/y"}).headers[ID] == "abc-123:x/y"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "é", 'a"b'])
def test_invalid_request_id_of_the_client_is_replaced(api: Api, given: str) -> None:
    answered = [api.request("GET", "/healthz", None, **{ID: given}).headers[ID] for _ in range(2)]
    assert answered[0] != answered[1] and given not in answered and all(len(each) == 32 for each in answered)


def test_errors_have_an_id(api: Api) -> None:
    assert api.request("GET", "/nowhere", None, **{ID: "e1"}).headers[ID] == "e1"


def test_statement_log_has_request_id(make_api: Maker, log: io.StringIO) -> None:
    api = make_api(logs_statements=True)

    def answer(request: StatementRequest) -> ResultStream:
        logging.getLogger("engine.test").warning("inside")
        return answer_of_rows(3)(request)

    api.engine.answers["SELECT logged"] = answer
    body = {"statement": "SELECT logged", "wait_timeout": "50s"}
    statement = api.request("POST", STATEMENTS, body, **{ID: "asked-1"}).get_json()["statement_id"]
    assert eventually(lambda: bool(lines(log, "read statement finished")))
    for (line,) in (lines(log, "inside"), lines(log, "read statement finished")):
        assert (line["request_id"], line["statement_id"], line["user"]) == ("asked-1", statement, "anonymous")
        assert line["session_id"]
    (ended,) = lines(log, "read statement finished")
    assert ended["message"].endswith("s, 3 rows")


def test_thrift_over_http_answers_the_id(live: Live) -> None:
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{live.url}/cliservice", headers={ID: "t-1"}))
    assert refused.value.code == 405 and refused.value.headers[ID] == "t-1"
