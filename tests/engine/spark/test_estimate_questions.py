"""Answers to Spark's estimate calls: nothing hidden by a policy, and never a failure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from datetime import tzinfo
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import ScanLimitExceeded
from engine.pruning.estimates import ColumnEstimate, Estimate
from engine.pruning.predicates import Predicate
from engine.runtime.profile import Profile
from engine.spark.file_lists import Asked
from engine.tables.scan import NO_FILES, ChosenFiles, Scan, TableRead
from engine.types.schema import StructType

FILES = pa.table(
    {"path": ["a", "b"], "size": [10, 20], "modification_time": [0, 0], "partition_values": [[], []]},
    schema=NO_FILES.schema,
)
KNOWN = Estimate(files=1, bytes=20, rows=5, columns={"n": ColumnEstimate(nulls=0, low=1, high=2, distinct=2)})
ALL = Estimate(files=2, bytes=30)


class OneFile:
    """Always selects the second file."""

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        read = TableRead(label="t", version=0, files_total=2, bytes_total=30, files_partition=2, files=1, bytes=20)
        return ChosenFiles(pa.array([1]), read)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        return KNOWN


class Broken(OneFile):
    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        raise TypeError("statistics that nobody thought of")


SCAN = Scan(
    relation="r", label="t", table_root="/t", schema=StructType(()), partition_columns=(), files=FILES, choice=OneFile()
)
QUESTION: dict[str, Any] = {"scan": 0, "filters": [], "zone": "UTC", "estimate": ["n"]}


@pytest.mark.parametrize(
    ("scan", "expected"),
    [
        (SCAN, KNOWN),
        (replace(SCAN, is_hidden=True), ALL),
        (replace(SCAN, choice=None), ALL),
        (replace(SCAN, choice=Broken()), ALL),
    ],
    ids=["known", "hidden", "without a choice", "broken"],
)
def test_an_estimate_reads_nothing(scan: Scan, expected: Estimate) -> None:
    profile = Profile()
    asked = Asked([scan], profile, scan_bytes_max=1)
    assert asked.answer(QUESTION) == asdict(expected)
    assert profile.reads == () and asked.failure is None
    with pytest.raises(ScanLimitExceeded):
        asked.answer({key: value for key, value in QUESTION.items() if key != "estimate"})
