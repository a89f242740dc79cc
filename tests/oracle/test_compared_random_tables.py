"""Random tables: random statements have the same result here and in delta-spark.

`ORACLE_TABLES` is their number, 200 by default; `ORACLE_SEED` is the first seed. One delta-spark process runs them all;
`-k` selects some by seed.
"""

from __future__ import annotations

import os

import pytest

from engine.spark.session import SparkDriver
from tests.oracle.compared.differences import differences
from tests.oracle.compared.random_cases import random_case
from tests.oracle.compared.runner import Made, run_selected

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(7200)]

_FIRST = int(os.environ.get("ORACLE_SEED", "0"))
_CASES = {
    f"table {seed}": random_case(seed) for seed in range(_FIRST, _FIRST + int(os.environ.get("ORACLE_TABLES", "200")))
}


@pytest.fixture(scope="module")
def made(
    request: pytest.FixtureRequest, spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Made]]:
    return run_selected(_CASES, request, spark_driver, tmp_path_factory.mktemp("random"))


@pytest.mark.parametrize("name", _CASES)
def test_random_tables_equal_delta_spark(made: dict[str, list[Made]], name: str) -> None:
    ours, theirs = made[name]
    found = differences(name, ours, theirs)
    assert not found, "\n".join([*_CASES[name].steps, *found])
