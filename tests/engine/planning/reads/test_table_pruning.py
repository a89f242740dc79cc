"""File pruning in a snapshot by a condition, and its report."""

from __future__ import annotations

from datetime import UTC

import pytest

from engine.planning.reads.table_pruning import TableFilePruning
from engine.pruning.predicates import ALWAYS, And, Column, Compare, Literal, Operator, Predicate, Unknown
from engine.types.schema import PrimitiveType
from tests.engine.planning.lake import PlanningLake, data_file, statistics

DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")


@pytest.fixture(scope="module")
def pruning(planning: PlanningLake) -> TableFilePruning:
    """Creates a file for each day, with ids from 0, 10 and 20, and 100, 200 and 300 bytes."""
    planning.make(
        "CREATE TABLE chosen (id BIGINT, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)))"
        " PARTITIONED BY (day)",
        *(
            data_file(f"{at}", {"day": day}, size=100 * (at + 1), stats=statistics(10, id=(10 * at, 10 * at + 9)))
            for at, day in enumerate(DAYS)
        ),
    )
    return TableFilePruning("chosen", planning.snapshot("chosen"))


def compare(name: str, operator: Operator, value: int, kind: PrimitiveType = PrimitiveType.LONG) -> Compare:
    return Compare(operator, Column((name,)), Literal(value, kind))


SECOND_DAY = 19724
EARLY_US = (SECOND_DAY * 24 + 2) * 3600 * 1_000_000
ON_DAY = compare("day", Operator.GREATER_OR_EQUAL, SECOND_DAY, PrimitiveType.DATE)
CHOICES: dict[str, tuple[Predicate, list[int] | None, tuple[int, int, int]]] = {
    "all": (ALWAYS, None, (3, 3, 600)),
    "nothing is known": (Unknown(), None, (3, 3, 600)),
    "partitions": (ON_DAY, [1, 2], (2, 2, 500)),
    "statistics": (compare("id", Operator.LESS, 10), [0], (3, 1, 100)),
    "both": (And((ON_DAY, compare("id", Operator.LESS, 20))), [1], (2, 1, 200)),
    "no file": (compare("id", Operator.LESS, 0), [], (3, 0, 0)),
    "every file": (compare("id", Operator.LESS, 100), None, (3, 3, 600)),
    "from what a partition column is generated from": (
        compare("at", Operator.LESS, EARLY_US, PrimitiveType.TIMESTAMP),
        [0, 1],
        (2, 2, 300),
    ),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_files_that_a_condition_leaves(pruning: TableFilePruning, case: str) -> None:
    """A time determines the day within 18 hours, since the time zone used for the day is unknown."""
    condition, rows, (by_partition, files, size) = CHOICES[case]
    found = pruning.choose(condition, UTC)
    assert (None if found.rows is None else found.rows.to_pylist()) == rows
    assert (found.read.files_partition, found.read.files, found.read.bytes) == (by_partition, files, size)
    assert (found.read.files_total, found.read.bytes_total, found.read.version) == (3, 600, 1)


def test_reported_table_read(pruning: TableFilePruning) -> None:
    assert str(pruning.choose(ON_DAY, UTC).read) == (
        "chosen: version 1, 3 files, 2 after partition pruning, 2 after statistics; 500 of 600 bytes"
    )
