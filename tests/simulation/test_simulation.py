"""The simulation: its bounds, and that the page has its tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.paths import ROOT
from tests.simulation.events import Clock, Lock, Process
from tests.simulation.model import CREATE_VIEW_REQUESTS, INSERT_REQUESTS, Load, StoreOptions, simulate
from tests.simulation.tables import TABLES, rows_of

PAGE = ROOT / "docs" / "internals" / "saturation.md"
STEADY = StoreOptions(sigma=0)  # each request takes 20 ms
QUIET = Load(per_s=5, seconds=60)


def test_events_happen_in_order_of_time_and_locks_are_given_in_order_of_arrival() -> None:
    clock, lock, seen = Clock(), Lock(), list[str]()

    def process(name: str, wait_s: float) -> Process:
        yield wait_s
        yield lock
        seen.append(f"{name} begins at {clock.now_s:g}")
        yield 5
        clock.release(lock)

    for name, wait_s in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        clock.start(process(name, wait_s), 0)
    clock.run(until_s=10)
    assert seen == ["a begins at 1", "b begins at 6"]  # c would be at 11


@pytest.mark.parametrize(
    ("changes_catalog", "requests", "in_sequence"), [(False, INSERT_REQUESTS, 4), (True, CREATE_VIEW_REQUESTS, 5)]
)
def test_undisturbed_statement_takes_its_requests_one_after_the_other(
    changes_catalog: bool, requests: int, in_sequence: int
) -> None:
    figures = simulate(replace(QUIET, per_s=0.5, changes_catalog=changes_catalog, gateways=1), STEADY)
    assert figures.attempts == 1
    assert figures.requests == pytest.approx(requests, abs=0.3)  # some statements have not ended
    assert figures.median_ms == pytest.approx(20 * in_sequence)


@pytest.mark.parametrize("answer_ms", [5, 20])
def test_single_gateway_commits_at_half_the_request_rate(answer_ms: int) -> None:
    figures = simulate(Load(per_s=300, gateways=1, tables=1, seconds=20), replace(STEADY, median_s=answer_ms / 1000))
    assert figures.ended_per_s == pytest.approx(1000 / (2 * answer_ms), rel=0.02)
    assert figures.attempts == pytest.approx(1, abs=0.01)


def test_more_gateways_commit_no_more_to_one_table_and_send_more_requests() -> None:
    one, many = (simulate(Load(per_s=60, gateways=gateways, tables=1, seconds=20)) for gateways in (1, 100))
    assert many.ended_per_s < 1.5 * one.ended_per_s
    assert many.requests > 10 * one.requests


def test_statements_beyond_the_limit_of_a_prefix_wait() -> None:
    limited = replace(STEADY, reads_per_s=50)
    load = Load(per_s=100, seconds=10)
    assert simulate(load, STEADY).ended_per_s > 90
    assert simulate(load, limited).ended_per_s < 56  # each lists the generations; the first second has twice the room


def test_runs_of_one_seed_are_equal() -> None:
    load = Load(per_s=50, tables=3, seconds=5)
    assert simulate(load, seed=7) == simulate(load, seed=7) != simulate(load, seed=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_page_has_the_tables(name: str) -> None:
    """`python -m tests.simulation` prints them."""
    assert "\n".join(rows_of(name)) in PAGE.read_text(encoding="utf-8")
