"""Alerts: their expressions parse, and promtool evaluates each over samples for which it fires and does not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tests.deploy.alert_cases import CASES, AlertCase, Series
from tests.paths import PROMTOOL, ROOT

FILE = ROOT / "deploy" / "prometheus" / "alerts.yml"
RULES: dict[str, dict[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}


@pytest.mark.parametrize("name", RULES)
def test_expression_parses_and_annotations_name_the_instance(name: str) -> None:
    rule = RULES[name]
    promql_parser.parse(rule["expr"])
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert re.search(r"{{ \$labels\.instance }}", rule["annotations"]["summary"])


def test_queries_of_the_dashboard_parse() -> None:
    text = (ROOT / "deploy" / "grafana" / "dashboard.json").read_text(encoding="utf-8")
    queries = re.findall(r'"expr": ("(?:[^"\\]|\\.)*")', text)
    assert len(queries) > 20
    for query in map(json.loads, queries):
        promql_parser.parse(query.replace("$__rate_interval", "5m").replace("$__range", "1h"))


def test_each_alert_has_a_case() -> None:
    assert {case.alert for case in CASES} == set(RULES)


@pytest.mark.promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_alert_fires_for_its_samples_only(tmp_path: Path, case: AlertCase) -> None:
    assert evaluated(tmp_path, case, case.firing, is_firing=True) == 0
    assert evaluated(tmp_path, case, case.firing, is_firing=False) != 0
    if case.quiet:
        assert evaluated(tmp_path, case, case.quiet, is_firing=False) == 0


def evaluated(folder: Path, case: AlertCase, samples: Series, *, is_firing: bool) -> int:
    """Returns promtool's exit code for the expectation."""
    rule = RULES[case.alert]
    expected = {"exp_labels": {**rule["labels"], "job": "delta-gateway", "instance": "a:8080"}} if is_firing else None
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in samples.items()],
        "alert_rule_test": [
            {"eval_time": f"{case.minutes}m", "alertname": case.alert, "exp_alerts": [expected] if expected else []}
        ],
    }
    # The texts of annotations have values, so they are left out.
    bare = {key: value for key, value in rule.items() if key != "annotations"}
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": [bare]}]}))
    (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "tests": [test]}))
    assert PROMTOOL is not None
    return subprocess.run(
        [PROMTOOL, "test", "rules", "test.yml"], cwd=folder, capture_output=True, text=True
    ).returncode
