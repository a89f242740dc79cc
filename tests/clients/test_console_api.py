"""The console's routes over a real server: parameters, sessions, functions, statistics, lineage, saved queries."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import Any

import pytest

from tests.clients.fix_server import RealServer

pytestmark = [pytest.mark.clients, pytest.mark.spark]


def ask(server: RealServer, method: str, path: str, body: object = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    url = f"http://127.0.0.1:{server.http_port}/api/2.0/{path}"
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=90) as response:
        return json.loads(response.read())


def of_table(part: str, schema: str, table: str) -> str:
    return f"catalog/{part}?" + urllib.parse.urlencode({"catalog": "spark_catalog", "schema": schema, "table": table})


@pytest.mark.parametrize(
    ("sql_type", "value", "shown"),
    [
        ("DATE", "2026-01-02", "2026-01-02"),
        ("TIMESTAMP", "2026-01-02 03:04:05", "2026-01-02 03:04:05"),
        ("DECIMAL(10,2)", "1.50", "1.50"),
        ("INT", "7", "7"),
        ("STRING", "it's", "it's"),
        ("BOOLEAN", "true", "true"),
        ("DATE", None, None),
    ],
)
def test_parameter_has_its_type(server: RealServer, sql_type: str, value: str | None, shown: str | None) -> None:
    parameters = [{"name": "p", "type": sql_type, "value": value}]
    answer = server.http().run("BEGIN SELECT :p, typeof(:p); END", parameters=parameters)
    assert answer["result"]["data_array"] == [[shown, sql_type.lower()]]


def test_parameter_without_a_value_has_a_place(server: RealServer) -> None:
    error = server.http().failure("SELECT 1,\n  :missing")
    assert (error["condition"], error["line"], error["column"]) == ("UNBOUND_SQL_PARAMETER", 2, 3)


def test_session_follows_use(server: RealServer) -> None:
    http = server.http(use_cached_result="false")
    assert http.run("USE shop")["session"]["schema"] == "shop"
    changed = ask(server, "PATCH", f"sql/sessions/{http.session_id}", {"schema": "default"})
    assert (changed["catalog"], changed["schema"]) == ("spark_catalog", "default")
    assert http.rows("SELECT current_schema()") == [["default"]]
    http.close()


def test_functions_have_signatures_and_those_of_the_catalog_are_there(server: RealServer) -> None:
    server.http().run(
        "CREATE OR REPLACE FUNCTION shop.with_tax(amount DOUBLE COMMENT 'Net') RETURNS DOUBLE RETURN amount * 1.2"
    )
    answer = ask(server, "GET", "catalog/functions?catalog=spark_catalog")
    functions = {each["name"]: each for each in answer["functions"]}
    assert functions["regexp_count"]["usage"] == ["regexp_count(str, regexp)"]
    assert functions["with_tax"]["usage"] == ["with_tax(amount DOUBLE) RETURNS DOUBLE"]
    assert len(functions) > 500 and "TBLPROPERTIES" in answer["keywords"]


def test_statistics_and_lineage_of_a_table(server: RealServer) -> None:
    http = server.http()
    http.run("CREATE OR REPLACE TABLE shop.measured AS SELECT id AS n, if(id = 3, NULL, 'x') AS s FROM range(10)")
    http.run("CREATE OR REPLACE VIEW shop.of_measured AS SELECT n FROM shop.measured")
    answer = ask(server, "GET", of_table("column_statistics", "shop", "measured"))
    assert (answer["rows"], [each["null_count"] for each in answer["columns"]]) == (10, [0, 1])
    assert [answer["columns"][0][name] for name in ("type", "min", "max", "is_exact")] == ["bigint", "0", "9", True]
    view: dict[str, object] = {"catalog": "spark_catalog", "schema": "shop", "name": "of_measured", "type": "VIEW"}
    own = dict.fromkeys(("path", "user", "statement_id", "first_ms", "last_ms", "count"))
    view |= own | {"statement_type": "VIEW", "columns": []}
    table = view | {"name": "measured", "type": "TABLE"}
    assert ask(server, "GET", of_table("lineage", "shop", "measured")) == {"upstream": [], "downstream": [view]}
    assert ask(server, "GET", of_table("lineage", "shop", "of_measured")) == {"upstream": [table], "downstream": []}
    http.run("CREATE OR REPLACE TABLE shop.of_both AS SELECT n FROM shop.of_measured")
    (found,) = ask(server, "GET", of_table("lineage", "shop", "of_measured"))["downstream"]
    assert {key: found[key] for key in ("name", "type", "statement_type", "count")} == {
        "name": "of_both",
        "type": "TABLE",
        "statement_type": "CREATE OR REPLACE TABLE AS SELECT",
        "count": 1,
    }
    assert found["first_ms"] == found["last_ms"] > 0 and len(found["statement_id"]) == 36


def test_saved_query_runs_with_its_parameters(server: RealServer) -> None:
    parameters = [{"name": "n", "type": "INT", "value": "2"}]
    query = {"display_name": "q", "query_text": "SELECT :n * 2", "parameters": parameters}
    made = ask(server, "POST", "sql/queries", {"query": query})
    (listed,) = ask(server, "GET", "sql/queries")["results"]
    assert listed["id"] == made["id"]
    given = [{"name": each["name"], "type": each["type"], "value": each["value"]} for each in made["parameters"]]
    assert server.http().run(made["query_text"], parameters=given)["result"]["data_array"] == [["4"]]
    assert ask(server, "DELETE", f"sql/queries/{made['id']}") == {}
