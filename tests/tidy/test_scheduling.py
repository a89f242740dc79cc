"""Tests that share something run in one process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.scheduling import UnitsSeen, unit_of


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/engine/test_writes.py::test_a[x::y]", "tests/engine/test_writes.py"),
        ("tests/engine/test_writes.py::TestA::test_a", "tests/engine/test_writes.py"),
        ("tests/clients/test_jdbc.py::test_a", "tests/clients/"),
        ("tests/clients/test_dbt.py::test_a", "tests/clients/"),
    ],
)
def test_a_file_is_a_unit_and_so_are_the_clients(nodeid: str, unit: str) -> None:
    assert unit_of(nodeid) == unit


def test_unit_spread_over_processes_is_reported() -> None:
    seen = UnitsSeen()
    for process, nodeid in [("gw0", "a.py::test_1"), ("gw1", "b.py::test_1"), ("gw0", "b.py::test_2")]:
        seen.add(SimpleNamespace(nodeid=nodeid, node=SimpleNamespace(gateway=SimpleNamespace(id=process))))
    seen.add(SimpleNamespace(nodeid="c.py::test_1"))  # without processes
    assert seen.spread() == ["b.py"]
