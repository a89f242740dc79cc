"""File pruning in a change data feed by a condition."""

from __future__ import annotations

import pytest

from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.listed_pruning import ChangeFilePruning
from engine.pruning.predicates import ALWAYS, Column, Compare, Literal, Operator, Predicate
from tests.engine.delta.log_builder import remove
from tests.engine.planning.lake import PlanningLake, data_file, statistics


@pytest.fixture(scope="module")
def pruning(planning: PlanningLake) -> ChangeFilePruning:
    """Adds two files, in versions 1 and 2; version 3 removes the first."""
    planning.make(
        "CREATE TABLE chosen (a INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    )
    planning.commit("chosen", data_file("1", {"p": "x"}, size=100, stats=statistics(3, a=(1, 3))))
    planning.commit("chosen", data_file("2", {"p": "y"}, size=200, stats=statistics(3, a=(5, 9))))
    planning.commit("chosen", remove("1", partition_values={"p": "x"}, size=100))
    (scan,) = planning.plan(ReadPlan, "SELECT * FROM table_changes('chosen', 1)").scans
    assert isinstance(scan.pruning, ChangeFilePruning)
    return scan.pruning


def compare(name: str, value: int | str, operator: Operator = Operator.EQUAL) -> Compare:
    return Compare(operator, Column((name,)), Literal.of(value))


CHOICES: dict[str, tuple[Predicate, list[int] | None, tuple[int, int, int]]] = {
    "all": (ALWAYS, None, (3, 3, 400)),
    "a version": (compare("_commit_version", 2), [1], (1, 1, 200)),
    "a kind": (compare("_change_type", "delete"), [2], (1, 1, 100)),
    "a partition": (compare("p", "y"), [1], (1, 1, 200)),
    "statistics of added files": (compare("a", 4, Operator.GREATER), [1, 2], (3, 2, 300)),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_files_that_a_condition_leaves(pruning: ChangeFilePruning, case: str) -> None:
    """A removed file's rows are unknown."""
    condition, rows, counts = CHOICES[case]
    found = pruning.choose(condition, None)
    assert (None if found.rows is None else found.rows.to_pylist()) == rows
    assert (found.read.files_partition, found.read.files, found.read.bytes) == counts
    assert (found.read.version, found.read.since, found.read.files_total, found.read.bytes_total) == (3, 1, 3, 400)


def test_reported_table_read(pruning: ChangeFilePruning) -> None:
    assert str(pruning.choose(ALWAYS, None).read).startswith(
        "the changes of `spark_catalog`.`default`.`chosen`: versions 1 to 3, 3 files"
    )
