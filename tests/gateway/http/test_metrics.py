"""Metrics are in Prometheus' text format, count operations, and contain no names."""

from __future__ import annotations

from catalog.conditions import ConcurrentDrop
from engine.concurrency.retry import RetryReason
from engine.runtime.accesses import Commit
from engine.runtime.metrics import gauge
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from tests.gateway.arrow_engine import fails, modifies, sleeps
from tests.gateway.http.conftest import Api, Maker, eventually
from tests.gateway.http.exposition import lint, read_exposition, samples
from tests.gateway.http.test_ownership import answer


def metrics(api: Api) -> dict[str, float]:
    response = api.request("GET", "/metrics")
    assert response.status_code == 200 and response.mimetype == "text/plain"
    return samples(response.text)


def test_ended_statements_are_counted(api: Api) -> None:
    for text in ("ROWS 5", "ROWS 7", "nonsense"):
        api.submit(text, wait_timeout="50s")
    assert eventually(lambda: metrics(api)["gateway_result_rows_total"] == 12)
    found = metrics(api)
    assert found["gateway_up"] == 1
    ended = {name: value for name, value in found.items() if name.startswith("gateway_statements_ended_total")}
    assert sum(value for name, value in ended.items() if 'state="finished"' in name) == 2
    assert sum(value for name, value in ended.items() if 'state="failed"' in name) == 1
    assert found['gateway_stage_seconds_count{stage="queue"}'] == 3
    assert found['gateway_stage_seconds_bucket{stage="queue",le="+Inf"}'] == 3
    assert found["gateway_result_bytes_total"] > 0


def test_running_statements_gauge(api: Api) -> None:
    api.engine.answers["SELECT slow"] = sleeps(30)
    statement = api.submit("SELECT slow", wait_timeout="0s")["statement_id"]
    assert eventually(lambda: metrics(api)['gateway_statements{state="running"}'] == 1)
    assert metrics(api)["gateway_sessions"] == 1
    api.ask("POST", f"/api/2.0/sql/statements/{statement}/cancel")
    assert metrics(api)['gateway_statements{state="running"}'] == 0


def test_metrics_contain_no_names_or_texts(api: Api) -> None:
    answer(api, "ann", "POST", "/api/2.0/sql/statements", {"statement": "SELECT 'hidden'", "wait_timeout": "50s"})
    text = api.request("GET", "/metrics").text
    assert "ann" not in text and "hidden" not in text


def test_metrics_require_login(api: Api) -> None:
    api.peer = "192.0.2.7"
    assert api.refuse("GET", "/metrics") == (401, "UNAUTHENTICATED")


def test_a_starting_server_is_not_up(make_api: Maker) -> None:
    found = metrics(make_api(is_ready=False))
    assert found.pop("gateway_up") == 0
    known = ("process_", "gateway_build_info", "gateway_restarts_total", "gateway_login_failures_total")
    assert all(name.startswith((*known, "gateway_http_responses_total")) for name in found)


def test_names_and_types_are_those_of_prometheus(api: Api) -> None:
    for text in ("ROWS 5", "nonsense", "SELECT 1"):
        api.submit(text, wait_timeout="50s")
    families = read_exposition(api.request("GET", "/metrics").text)
    assert lint(families) == []
    assert families["gateway_stage_seconds"].kind == "histogram"


def test_the_lint_finds_what_is_wrong() -> None:
    wrong = (
        ("# HELP a_ms Time.\n# TYPE a_ms gauge\na_ms 1\n", "base unit"),
        ("# HELP a Count.\n# TYPE a counter\na 1\n", "_total"),
        ("# HELP a Count\n# TYPE a gauge\na 1\n", "Count"),
        ('# HELP a_seconds T.\n# TYPE a_seconds histogram\na_seconds_bucket{le="1"} 1\na_seconds_count 1\n', "+Inf"),
    )
    for text, problem in wrong:
        assert any(problem in found for found in lint(read_exposition(text))), text


def test_commits_and_what_they_lost_are_counted(api: Api) -> None:
    def write(request: StatementRequest) -> ResultStream:
        request.on_retry(RetryReason.REBASE)
        request.on_retry(RetryReason.REBASE)
        request.on_commit(Commit("shop.orders", 7))
        return modifies(1)(request)

    api.engine.answers["INSERT INTO t VALUES (1)"] = write
    api.engine.answers["DELETE FROM t"] = fails(ConcurrentDrop("t"))
    for text in ("INSERT INTO t VALUES (1)", "DELETE FROM t"):
        api.submit(text, wait_timeout="50s")
    assert eventually(lambda: metrics(api)["gateway_commits_total"] == 1)
    found = metrics(api)
    assert found['gateway_commit_retries_total{kind="rebase"}'] == 2
    assert found['gateway_commit_retries_total{kind="rerun"}'] == 0
    assert found["gateway_commit_conflicts_total"] == 1


def test_engine_metrics_are_exported(api: Api) -> None:
    api.engine.families = (gauge("gateway_spark_heap_used_bytes", "Bytes.", 12345.0),)
    assert metrics(api)["gateway_spark_heap_used_bytes"] == 12345
