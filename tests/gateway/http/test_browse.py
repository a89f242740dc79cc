"""The catalog over HTTP: names with any character, and errors equal to statements' errors."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from engine.runtime.results import STRING_MAP, TIMESTAMP, small_result
from gateway.http.browse import json_values
from tests.gateway.http.conftest import Api

API = "/api/2.0/catalog"


@pytest.fixture
def lake(api: Api) -> Api:
    api.engine.tables["lab", "a_b"] = pa.table({"id": [1], "name": ["x"]})
    api.engine.tables["lab", "axb"] = pa.table({"other": [1]})
    return api


def test_levels_of_the_catalog(lake: Api) -> None:
    answer = lake.ask("GET", f"{API}/catalogs")
    assert answer == {"catalogs": [{"name": "spark_catalog"}, {"name": "system"}], "current": "spark_catalog"}
    schemas = lake.ask("GET", f"{API}/schemas?catalog=spark_catalog")["schemas"]
    assert [schema["name"] for schema in schemas] == ["default", "lab"]
    tables = lake.ask("GET", f"{API}/tables?catalog=spark_catalog&schema=lab")["tables"]
    assert [(table["name"], table["type"]) for table in tables] == [("a_b", "TABLE"), ("axb", "TABLE")]
    columns = lake.ask("GET", f"{API}/columns?catalog=spark_catalog&schema=lab&table=axb")["columns"]
    assert [(column["name"], column["table"], column["sql_type"]) for column in columns] == [("other", "axb", "bigint")]


def test_every_session_of_a_call_is_closed(lake: Api) -> None:
    lake.ask("GET", f"{API}/catalogs")
    lake.refuse("GET", f"{API}/detail?catalog=c&schema=s&table=t")
    assert not lake.registry.sessions() and not lake.registry.operations()
    assert all(session.closed for session in lake.engine.sessions)


@pytest.mark.parametrize(
    "path",
    [
        "schemas",
        "schemas?catalog=",
        "tables?catalog=c",
        "table?catalog=c&schema=s",
        "files?catalog=c&schema=s&table=t&limit=0",
    ]
    + ["table?catalog=c&schema=s&table=t&version=-1", "versions?catalog=c&schema=s&table=t&limit=x"],
)
def test_parameters_are_checked(api: Api, path: str) -> None:
    assert api.refuse("GET", f"{API}/{path}") == (400, "INVALID_PARAMETER_VALUE")


def test_an_error_is_that_of_the_statement(api: Api) -> None:
    response = api.request("GET", f"{API}/detail?catalog=c&schema=s&table=t")
    assert (response.status_code, response.get_json()["condition"]) == (400, "PARSE_SYNTAX_ERROR.TEST")
    assert response.get_json()["sql_state"] == "42601"


def test_values_are_those_of_json() -> None:
    columns = {"at": TIMESTAMP, "map": STRING_MAP}
    stream = small_result(columns, [(dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), [("a", "b")]), (None, None)])
    table = pa.Table.from_batches(stream.batches(), stream.schema)
    assert json_values(table) == [{"at": 1000, "map": {"a": "b"}}, {"at": None, "map": None}]
