"""The tables of the page: a load for each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.simulation.model import Figures, Load, simulate


@dataclass(frozen=True, slots=True)
class Table:
    """A table's first columns, and a load for their values in each row."""

    columns: tuple[str, ...]
    rows: Mapping[tuple[int, ...], Load]


# Gateways, and statements per second.
_ONE_TABLE = ((1, 10), (1, 20), (1, 30), (10, 10), (10, 20), (10, 40), (100, 10), (100, 20), (100, 40), (100, 80))
_ONE_CATALOG = ((1, 5), (1, 20), (1, 30), (10, 5), (10, 20), (100, 5), (100, 10), (100, 20), (100, 40))
TABLES = {
    "many tables": Table(
        ("INSERTs per second",),
        {(rate,): Load(per_s=rate, seconds=4) for rate in (100, 1000, 3000, 5000, 6000, 8000)},
    ),
    "one table": Table(
        ("gateways", "INSERTs per second"),
        {
            (gateways, rate): Load(per_s=rate, gateways=gateways, tables=1, seconds=20)
            for gateways, rate in (
                (1, 10),
                (1, 20),
                (1, 30),
                (2, 20),
                (10, 20),
                (10, 40),
                (100, 20),
                (100, 40),
                (100, 80),
            )
        },
    ),
    "one catalog": Table(
        ("gateways", "changes per second"),
        {
            (gateways, rate): Load(per_s=rate, gateways=gateways, changes_catalog=True, seconds=20)
            for gateways, rate in (
                (1, 5),
                (1, 20),
                (1, 30),
                (10, 5),
                (10, 20),
                (100, 5),
                (100, 10),
                (100, 20),
                (100, 40),
            )
        },
    ),
}
_FIGURES = ("ended per second", "median", "99 %", "requests", "attempts")


def rows_of(name: str) -> Iterator[str]:
    """Yields the lines of a table."""
    table = TABLES[name]
    columns = (*table.columns, *_FIGURES)
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for values, load in table.rows.items():
        yield f"| {' | '.join((*map(str, values), *_texts(simulate(load))))} |"


def _texts(figures: Figures) -> Iterator[str]:
    yield f"{figures.ended_per_s:.0f}" if figures.ended_per_s >= 10 else f"{figures.ended_per_s:.1f}"
    for milliseconds in (figures.median_ms, figures.p99_ms):
        yield f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"
    yield f"{figures.requests:.1f}"
    yield f"{figures.attempts:.2f}"
