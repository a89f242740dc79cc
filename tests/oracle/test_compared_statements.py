"""Statements that we and delta-spark run on equal tables make the same commits, rows and changes."""

from __future__ import annotations

import pytest

from engine.spark.session import SparkDriver
from tests.oracle.compared.all_cases import CASES
from tests.oracle.compared.differences import differences
from tests.oracle.compared.runner import Made, run_selected

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(7200)]


@pytest.fixture(scope="module")
def made(
    request: pytest.FixtureRequest, spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Made]]:
    return run_selected(CASES, request, spark_driver, tmp_path_factory.mktemp("compared"))


@pytest.mark.parametrize("name", CASES)
def test_statements_equal_delta_spark(made: dict[str, list[Made]], name: str) -> None:
    ours, theirs = made[name]
    found = differences(name, ours, theirs)
    assert not found, "\n".join(found)
