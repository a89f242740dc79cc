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
from engine.spark.file_lists import DriverCallbacks
from engine.tables.scan import NO_FILES, PrunedFiles, Scan, TableRead
from engine.types.schema import StructType

FILES = pa.table(
    {"path": ["a", "b"], "size": [10, 20], "modification_time": [0, 0], "partition_values": [[], []]},
    schema=NO_FILES.schema,
)
KNOWN = Estimate(files=1, bytes=20, rows=5, columns={"n": ColumnEstimate(nulls=0, low=1, high=2, distinct=2)})
ALL = Estimate(files=2, bytes=30)


class OneFile:
    """Always selects the second file."""

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        read = TableRead(label="t", version=0, files_total=2, bytes_total=30, files_partition=2, files=1, bytes=20)
        return PrunedFiles(pa.array([1]), read)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        return KNOWN


class Broken(OneFile):
    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        raise TypeError("statistics that nobody thought of")


SCAN = Scan(
    relation="r",
    label="t",
    table_root="/t",
    schema=StructType(()),
    partition_columns=(),
    files=FILES,
    pruning=OneFile(),
)
REQUEST: dict[str, Any] = {"scan": 0, "filters": [], "zone": "UTC", "estimate": ["n"]}


@pytest.mark.parametrize(
    ("scan", "expected"),
    [
        (SCAN, KNOWN),
        (replace(SCAN, is_hidden=True), ALL),
        (replace(SCAN, pruning=None), ALL),
        (replace(SCAN, pruning=Broken()), ALL),
    ],
    ids=["known", "hidden", "without a choice", "broken"],
)
def test_an_estimate_reads_nothing(scan: Scan, expected: Estimate) -> None:
    profile = Profile()
    query = DriverCallbacks([scan], profile, scan_bytes_max=1)
    assert query.answer(REQUEST) == asdict(expected)
    assert profile.reads == () and query.failure is None
    with pytest.raises(ScanLimitExceeded):
        query.answer({key: value for key, value in REQUEST.items() if key != "estimate"})
