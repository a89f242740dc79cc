"""The plans that Spark executed for a statement, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.fix_server import RealServer
from tests.clients.http_client import HttpClient, HttpRefused

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def client(server: RealServer) -> Iterator[HttpClient]:
    client = server.http()
    for text in (
        "CREATE SCHEMA planned",
        "CREATE TABLE planned.t (id BIGINT, part INT) PARTITIONED BY (part)",
        "INSERT INTO planned.t SELECT id, CAST(id % 4 AS INT) FROM range(1000)",
        "CREATE TABLE planned.numbers (id BIGINT, part INT) PARTITIONED BY (part)",
        "INSERT INTO planned.numbers SELECT id, CAST(id % 4 AS INT) FROM range(100)",
        "CREATE TABLE planned.filtered AS SELECT * FROM planned.t",
        "CREATE FUNCTION planned.is_small(id BIGINT) RETURNS BOOLEAN RETURN id < 654321",
        "ALTER TABLE planned.filtered SET ROW FILTER planned.is_small ON (id)",
    ):
        client.run(text)
    yield client
    client.run("DROP SCHEMA planned CASCADE")


def plans(client: HttpClient, text: str) -> dict[str, Any]:
    statement_id = client.run(text)["statement_id"]
    return client.ask("GET", f"/statements/{statement_id}/plan")


def test_plan_has_operators_with_rows_times_and_pruning(client: HttpClient) -> None:
    answer = plans(client, "SELECT part, max(id + 1) FROM planned.t WHERE part < 3 GROUP BY part")
    assert answer["reason"] is None
    (plan,) = answer["plans"]
    nodes = {node["id"]: node for node in plan["nodes"]}
    assert "InterruptibleRows" not in {node["name"] for node in nodes.values()}
    (scan,) = (node for node in nodes.values() if node["name"].startswith("Scan"))
    assert scan["rows"] == 750 and scan["time_ms"] is not None
    assert (scan["read"]["files"], scan["read"]["files_total"]) == (3, 4)
    assert scan["bytes"] == pytest.approx(scan["read"]["bytes"], rel=0.02)  # Spark displays one decimal
    assert "[`spark_catalog`.`planned`.`t`]" in scan["description"]
    aggregates = [node for node in nodes.values() if node["name"] == "HashAggregate"]
    assert 3 in {node["rows"] for node in aggregates}
    targets = dict(plan["edges"])
    reached = scan["id"]
    while reached in targets:
        reached = targets[reached]
    assert nodes[reached]["rows"] == 3 or reached in {node["id"] for node in aggregates}
    clusters = {node["cluster"] for node in nodes.values()} - {None}
    assert all(nodes[cluster]["name"].startswith("WholeStageCodegen") for cluster in clusters)


def test_writes_have_plans(client: HttpClient) -> None:
    answer = plans(client, "INSERT INTO planned.t SELECT id, 9 FROM planned.t WHERE part = 0")
    assert answer["reason"] is None and any(
        node["name"].startswith("Scan") for plan in answer["plans"] for node in plan["nodes"]
    )


def test_answers_without_a_plan_say_why(client: HttpClient) -> None:
    assert plans(client, "BEGIN SELECT sum(id * 5) FROM planned.t; END")["reason"] == "SCRIPT"
    assert plans(client, "SHOW SCHEMAS")["reason"] == "NOT_RECORDED"


def test_cached_answer_has_the_plan_of_the_statement_that_computed_it(client: HttpClient) -> None:
    query = "SELECT sum(id * 3) FROM planned.t WHERE part = 1"
    first, again = plans(client, query), plans(client, query)
    assert (first["reason"], again["reason"]) == (None, "FROM_CACHE")
    assert again["plans"] == first["plans"] != []


def test_answer_from_the_log_reports_the_statistics_used(client: HttpClient) -> None:
    answer = plans(client, "SELECT count(*), max(id) AS last FROM planned.numbers WHERE part = 1")
    assert (answer["reason"], answer["plans"]) == ("FROM_LOG", [])
    assert answer["log_answer"] == {
        "table": "`spark_catalog`.`planned`.`numbers`",
        "version": 1,
        "files": 1,
        "statistics": ["count(*)", "max(id)"],
    }
    assert plans(client, "SELECT count(*) FROM planned.filtered")["log_answer"] is None


def test_repeated_tasks_have_the_plan_of_their_first_run(client: HttpClient) -> None:
    with_session = client.session(use_cached_result="false")
    query = "SELECT id, id + 13 AS later FROM planned.numbers WHERE part = 2"
    first, again = plans(with_session, query), plans(with_session, query)
    with_session.close()
    assert (first["reason"], again["reason"]) == (None, "REPEATED")
    assert again["plans"] == first["plans"] != []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT part, max(id) FROM planned.filtered GROUP BY part",
        "SELECT a.part FROM planned.t AS a JOIN planned.filtered AS b ON a.id = b.id",
        "BEGIN SELECT max(id + 2) FROM planned.filtered; END",
    ],
)
def test_plans_over_protected_tables_are_hidden(client: HttpClient, text: str) -> None:
    answer = plans(client, text)
    assert (answer["reason"], answer["plans"]) in (("PROTECTED", []), ("SCRIPT", []))
    assert "654321" not in str(answer)


def test_unknown_statement_has_no_plan(client: HttpClient) -> None:
    with pytest.raises(HttpRefused, match="404|RESOURCE_DOES_NOT_EXIST"):
        client.ask("GET", "/statements/00000000-0000-0000-0000-000000000000/plan")


def test_plans_of_merge_name_the_tables_of_all_its_queries(client: HttpClient) -> None:
    answer = plans(
        client,
        "MERGE INTO planned.t USING planned.numbers AS s ON t.id = s.id + 990"
        " WHEN MATCHED THEN UPDATE SET part = s.part"
        " WHEN NOT MATCHED THEN INSERT (id, part) VALUES (s.id + 990, s.part)",
    )
    scans = [node["description"] for plan in answer["plans"] for node in plan["nodes"] if "Scan" in node["name"]]
    named = [re.findall(r"\[(`.*?`)\]", scan) for scan in scans]
    assert len(scans) > 1 and {name for (name,) in named} == {
        "`spark_catalog`.`planned`.`t`",
        "`spark_catalog`.`planned`.`numbers`",
    }
