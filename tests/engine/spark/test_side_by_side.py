"""Statements that run at once do not wait for each other: no lock is held while Spark plans one."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path

import pytest

from engine.pruning.estimates import Estimate
from engine.pruning.predicates import Predicate
from engine.spark.session import ExecSession, SparkDriver
from engine.tables.scan import PrunedFiles, TableRead
from tests.engine.spark.scans import DataFile, rows, write_scan

pytestmark = pytest.mark.spark

TIMEOUT_S = 60
READ = TableRead(label="held", version=0, files_total=1, bytes_total=1, files_partition=1, files=1, bytes=1)


class BlockedPruning:
    """Answers which files are read when it is let go, as a store that hangs."""

    def __init__(self) -> None:
        self.is_requested, self.is_let_go = threading.Event(), threading.Event()

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        self.is_requested.set()
        self.is_let_go.wait(TIMEOUT_S)
        return PrunedFiles(None, READ)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        raise AssertionError("the query reads without estimates")


def test_statements_run_while_the_planning_of_another_statement_hangs(
    spark: ExecSession, spark_driver: SparkDriver, tmp_path: Path
) -> None:
    free = write_scan(tmp_path, {"id": "long"}, [DataFile(path="a.parquet", columns={"id": [1, 2]})])
    blocked = BlockedPruning()
    held = replace(free, pruning=blocked)
    text = "SELECT sum(id) FROM __scan_0"
    other = spark_driver.open_session()
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(rows, spark, text, held)
        try:
            assert blocked.is_requested.wait(TIMEOUT_S)
            for session in (spark, other):
                assert rows(session, text, free) == [(3,)]
                session.set_setting("spark.sql.ansi.enabled", "true")
                assert session.get_setting("spark.sql.ansi.enabled") == "true"
            assert not blocked.is_let_go.is_set() and not hanging.done()
        finally:
            blocked.is_let_go.set()
        assert hanging.result() == [(3,)]
    other.close()
