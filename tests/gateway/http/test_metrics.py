"""Metrics are Prometheus' text, count what was done, and name nobody."""

from __future__ import annotations

import re

from tests.gateway.arrow_engine import sleeps
from tests.gateway.http.conftest import Api, Maker, eventually
from tests.gateway.http.test_ownership import answer

SAMPLE = re.compile(r'(\w+)(\{\w+="\w+"(?:,\w+="\w+")*\})? (\S+)')


def metrics(api: Api) -> dict[str, float]:
    response = api.request("GET", "/metrics")
    assert response.status_code == 200 and response.mimetype == "text/plain"
    found = {}
    for line in response.text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP \w+ .+|TYPE \w+ (gauge|counter|summary))", line)
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()  # type: ignore[union-attr]
        found[name + (labels or "")] = float(value)
    return found


def test_ended_statements_are_counted(api: Api) -> None:
    for text in ("ROWS 5", "ROWS 7", "nonsense"):
        api.submit(text, wait_timeout="10s")
    assert eventually(lambda: metrics(api)["gateway_result_rows_total"] == 12)
    found = metrics(api)
    assert found["gateway_up"] == 1
    ended = {name: value for name, value in found.items() if name.startswith("gateway_statements_ended_total")}
    assert sum(value for name, value in ended.items() if 'state="finished"' in name) == 2
    assert sum(value for name, value in ended.items() if 'state="failed"' in name) == 1
    assert found['gateway_stage_seconds_count{stage="queue"}'] == 3


def test_what_runs_is_a_gauge(api: Api) -> None:
    api.engine.answers["SELECT slow"] = sleeps(30)
    statement = api.submit("SELECT slow", wait_timeout="0s")["statement_id"]
    assert eventually(lambda: metrics(api)['gateway_statements{state="running"}'] == 1)
    assert metrics(api)["gateway_sessions"] == 1
    api.ask("POST", f"/api/2.0/sql/statements/{statement}/cancel")
    assert metrics(api)['gateway_statements{state="running"}'] == 0


def test_no_name_and_no_text_is_told(api: Api) -> None:
    answer(api, "ann", "POST", "/api/2.0/sql/statements", {"statement": "SELECT 'hidden'", "wait_timeout": "10s"})
    text = api.request("GET", "/metrics").text
    assert "ann" not in text and "hidden" not in text


def test_who_may_not_log_in_is_told_nothing(api: Api) -> None:
    api.peer = "192.0.2.7"
    assert api.refuse("GET", "/metrics") == (401, "UNAUTHENTICATED")


def test_a_starting_server_is_not_up(make_api: Maker) -> None:
    assert metrics(make_api(is_ready=False)) == {"gateway_up": 0}
