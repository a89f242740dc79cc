"""Struct fields are assigned as in delta-spark."""

from __future__ import annotations

import pytest

from engine.spark.session import SparkDriver
from tests.oracle.compared.differences import metadata_differences
from tests.oracle.compared.runner import Made, run_selected
from tests.oracle.compared.struct_cases import STRUCT_CASES

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(7200)]


@pytest.fixture(scope="module")
def made(
    request: pytest.FixtureRequest, spark_driver: SparkDriver, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Made]]:
    return run_selected(STRUCT_CASES, request, spark_driver, tmp_path_factory.mktemp("structs"))


@pytest.mark.parametrize("name", STRUCT_CASES)
def test_struct_assignments_equal_delta_spark(made: dict[str, list[Made]], name: str) -> None:
    ours, theirs = made[name]
    found = metadata_differences(f"struct {name}", ours, theirs)
    assert not found, "\n".join(found)
