"""Two lakes that differ only in data hidden from bob answer all his statements alike, on every wire.

The slow test runs `NONINTERFERENCE_STATEMENTS` (2,000) for each seed in `NONINTERFERENCE_SEEDS`.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from engine.spark.session import SparkDriver
from tests.gateway.authenticators.users import cheap_passwords
from tests.security.noninterference.answers import Wires
from tests.security.noninterference.statements import Statement, Statements
from tests.security.noninterference.twin_lakes import twins

SEEDS = [int(seed) for seed in os.environ.get("NONINTERFERENCE_SEEDS", "1").split(",")]
SHOWN = 20
MANY = int(os.environ.get("NONINTERFERENCE_STATEMENTS", "2000"))


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_passwords(monkeypatch)


@pytest.mark.parametrize("seed", [0])
def test_sample_of_statements_reveals_no_hidden_rows(tmp_path: Path, spark_driver: SparkDriver, seed: int) -> None:
    _compare(tmp_path, spark_driver, seed, 18)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_thousands_of_statements(tmp_path: Path, spark_driver: SparkDriver, seed: int) -> None:
    _compare(tmp_path, spark_driver, seed, MANY)


def _compare(folder: Path, driver: SparkDriver, seed: int, count: int) -> None:
    random = Random(seed)
    statements, differences = Statements(random), list[str]()
    with twins(folder, driver) as (one, two), one.server.client("bob") as first, two.server.client("bob") as second:
        sides = Wires(one.server, first, str(one.folder)), Wires(two.server, second, str(two.folder))
        for index in range(count):
            request = statements.next()
            if over_http := isinstance(request, Statement) and random.random() < 0.5:
                answers = [side.http(request) for side in sides]
            else:
                answers = [side.thrift(request) for side in sides]
            if answers[0] != answers[1]:
                wire = "HTTP" if over_http else "Thrift"
                differences.append(f"statement {index} over {wire}: {request}\n{_difference(*answers)}")
    assert not differences, f"{len(differences)} with seed {seed}:\n" + "\n\n".join(differences[:SHOWN])


def _difference(one: str, two: str) -> str:
    """Returns the first difference, with its context."""
    at = next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return "\n".join(text[max(at - 100, 0) : at + 200] for text in (one, two))
