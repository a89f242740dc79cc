"""The gateway's rules: their registry in Java, their switches, and where they are reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.settings import RULES, rule_setting
from engine.spark.session import SparkDriver

pytestmark = pytest.mark.spark

LOOKUP = "SELECT word FROM words WHERE id = 7"


@pytest.fixture(scope="module", autouse=True)
def words(lake: Path) -> None:
    rows = pa.table({"id": range(100), "word": [str(number) for number in range(100)]})
    write_deltalake(lake / "default" / "words", rows)


def run(session: LakeSession, text: str) -> tuple[list[tuple[object, ...]], dict[str, int]]:
    """Returns the rows, and the rules in the profile."""
    request = StatementRequest(identity=Identity("ann"))
    result = session.execute(text, request)
    rows = [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]
    result.close()
    return rows, dict(request.profile.rules)


@pytest.fixture
def switch(session: LakeSession) -> Iterator[LakeSession]:
    yield session
    run(session, "RESET")


def test_registry_in_java_has_rules_of_python(spark_driver: SparkDriver) -> None:
    registry = json.loads(spark_driver.process.driver.optimizerRules())
    assert [(rule["name"], rule["key"]) for rule in registry] == [(name, rule_setting(name)) for name, _ in RULES]


def test_profile_counts_rules_that_change_plan(switch: LakeSession) -> None:
    assert run(switch, LOOKUP) == ([("7",)], {"pointLookups": 1, "singleTaskExecution": 1, "staticPlans": 1})
    rows, rules = run(switch, LOOKUP)
    assert rows == [("7",)] and rules["planCache"] == 1 and "pointLookups" not in rules
    assert run(switch, "SELECT 4711") == ([(4711,)], {})


def test_rule_that_is_off_changes_no_plan(switch: LakeSession) -> None:
    assert "pointLookups" in run(switch, LOOKUP.replace("7", "8"))[1]
    run(switch, f"SET {rule_setting('pointLookups')} = false")
    rows, rules = run(switch, LOOKUP.replace("7", "8"))
    assert rows == [("8",)] and "singleTaskExecution" in rules and "pointLookups" not in rules


def test_all_rules_off_leave_answer_and_no_rule(switch: LakeSession) -> None:
    for name, _ in RULES:
        run(switch, f"SET {rule_setting(name)} = false")
    for _ in range(2):
        assert run(switch, LOOKUP.replace("7", "9")) == ([("9",)], {})


def test_plan_cache_key_contains_switches(switch: LakeSession) -> None:
    text = LOOKUP.replace("7", "10")
    run(switch, text)
    assert "planCache" in run(switch, text)[1]
    run(switch, f"SET {rule_setting('pointLookups')} = false")
    assert "planCache" not in run(switch, text)[1]
    run(switch, f"RESET {rule_setting('pointLookups')}")
    assert "planCache" in run(switch, text)[1]


def test_plan_cache_that_is_off_caches_no_plan(switch: LakeSession) -> None:
    run(switch, f"SET {rule_setting('planCache')} = false")
    text = LOOKUP.replace("7", "11")
    assert run(switch, text) == run(switch, text)
    assert "pointLookups" in run(switch, text)[1]


def test_explain_ends_with_rules_that_change_plan(switch: LakeSession) -> None:
    ((text,),), _ = run(switch, f"EXPLAIN {LOOKUP}")
    assert str(text).endswith("\n\n== Gateway Rules ==\npointLookups, singleTaskExecution, staticPlans\n")
    for name, _ in RULES:
        run(switch, f"SET {rule_setting(name)} = false")
    ((text,),), _ = run(switch, f"EXPLAIN {LOOKUP}")
    assert str(text).endswith("\n\n== Gateway Rules ==\nnone\n")


def test_write_has_rules_of_its_query(switch: LakeSession) -> None:
    run(switch, "CREATE TABLE copies AS SELECT * FROM words")
    _, rules = run(switch, "INSERT INTO copies SELECT * FROM words WHERE id IN (1, 2)")
    assert rules["singleTaskExecution"] >= 1


def test_column_cache_is_counted_and_switched(switch: LakeSession) -> None:
    text = "SELECT max(word), {} AS n FROM words"
    counts = [run(switch, text.format(number))[1].get("columnCache", 0) for number in range(6)]
    assert counts[-1] == 1
    run(switch, f"SET {rule_setting('columnCache')} = false")
    assert "columnCache" not in run(switch, text.format(7))[1]


def test_rule_is_switched_for_server(switch: LakeSession) -> None:
    assert run(switch, f"SET {rule_setting('pointLookups')}")[0] == [(rule_setting("pointLookups"), "true")]
