"""Dashboards, alerts and the pages for operators refer to metrics that `/metrics` has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.lineage.recorder import LineageRecorder
from engine.cache.result_cache import ResultCache
from engine.delta.snapshot.snapshot_cache import SnapshotCache
from engine.main import lineage_metrics, snapshot_metrics
from engine.runtime.jvm_statistics import JvmStatistics
from engine.spark.session import SparkDriver
from engine.spool.budget import SpoolBudget
from tests.gateway.http.conftest import Api
from tests.gateway.http.exposition import Family, lint, read_exposition
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
NAME = re.compile(r"\b(?:gateway|process)_[a-z_]+\b(?!\s*=~?)")
LABEL = re.compile(r'([a-z_]+)\{([^}]*)\}')  # fmt: skip
# Labels that Prometheus adds, or that belong to buckets.
SCRAPED = {"job", "instance", "le"}


@pytest.fixture
def families(api: Api) -> dict[str, Family]:
    """Returns all metrics from a server with Spark."""
    process = SimpleNamespace(jvm_statistics=JvmStatistics(*range(11)))
    supervisor = SimpleNamespace(restarts=0, process=process)
    driver = SparkDriver(supervisor, SimpleNamespace(path=Path()), None)  # type: ignore[arg-type]
    cached = (
        *snapshot_metrics(SnapshotCache(1)),
        *lineage_metrics(LineageRecorder()),
        *ResultCache(1, 1).metrics(),
    )
    api.engine.families = (*cached, *driver.metrics())
    api.submit("SELECT 1", wait_timeout="50s")
    api.registry.state = SimpleNamespace(  # type: ignore[assignment]
        num_sessions=0, budget=SpoolBudget(1), failures=0, restored=0
    )
    found = read_exposition(api.request("GET", "/metrics").text)
    api.registry.state = None
    return found


def dashboard_queries() -> Iterator[str]:
    document = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
    yield from _texts(document, ("expr", "definition"))


def alert_queries() -> Iterator[str]:
    text = (DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    yield from re.findall(r"expr: (?:>\n)?(.+?)\n {8}(?:for|labels):", text, re.DOTALL)


def _texts(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key in keys)
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item, keys)


def series(families: dict[str, Family]) -> dict[str, set[str]]:
    """Returns label names by sample name."""
    found: dict[str, set[str]] = {}
    for family in families.values():
        for key in family.samples:
            name, _, labels = key.partition("{")
            found.setdefault(name, set()).update(re.findall(r"([a-z_]+)=", labels))
        if not family.samples:
            found[family.name] = {"kind", "state", "class"}
    return found


def test_every_query_names_what_is_there(families: dict[str, Family]) -> None:
    known = series(families)
    queries = [*dashboard_queries(), *alert_queries()]
    assert len(queries) > 40
    for query in queries:
        names = set(NAME.findall(query))
        assert names <= known.keys() | {"gateway_up"}, query
        assert names or query.startswith("up"), query
        for name, labels in LABEL.findall(query):
            if name in known:
                assert set(re.findall(r"([a-z_]+)\s*=", labels)) <= known[name] | SCRAPED, query
        for grouped in re.findall(r"by \(([^)]*)\)", query):
            has = set().union(*(known[name] for name in names))
            assert set(re.split(r",\s*", grouped)) <= has | SCRAPED, query


def test_values_of_labels_are_there(families: dict[str, Family]) -> None:
    """For states and stages that a dashboard selects."""
    values = {"pending", "running", "streaming", "queue", "commit", "read", "write", "failed", "timed_out"}
    selected = {
        value
        for query in (*dashboard_queries(), *alert_queries())
        for _, text in re.findall(r'(state|stage|class)=~?"([^"]+)"', query)
        for value in text.split("|")
    }
    assert selected and selected <= values


def test_metric_names_pass_lint(families: dict[str, Family]) -> None:
    assert lint(families) == []


def test_the_page_of_metrics_has_each_name(families: dict[str, Family]) -> None:
    text = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`((?:gateway|process)_[a-z_]+)`", text)) == families.keys()


def test_the_page_of_monitoring_names_metrics_that_are_there(families: dict[str, Family]) -> None:
    text = (ROOT / "docs/operations/monitoring.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`((?:gateway|process)_[a-z_]+)", text)) <= families.keys()


def test_panels_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells)) and all(x < 24 for x, _ in cells)
    assert len({panel["id"] for panel in panels}) == len(panels)
