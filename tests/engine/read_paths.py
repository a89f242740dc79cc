"""One plan in the real engine, run with every Parquet reader configuration.

Filter pushdown must not change rows, so all agree: Spark's vectorized and row-based readers, each with pushdown, and a
read of every file without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from engine.binding.sources import Sources
from engine.main import EngineOptions, open_sources
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.spark.session import ExecSession, SparkDriver
from tests.engine.planned import planned

BATCHES, ROWS, EVERYTHING = "batches", "rows", "everything"
READ_PATHS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        BATCHES: {},
        ROWS: {
            "spark.sql.parquet.enableVectorizedReader": "false",
            "spark.sql.parquet.recordLevelFilter.enabled": "true",
        },
        EVERYTHING: {"spark.sql.parquet.filterPushdown": "false"},
    }
)


@dataclass(frozen=True, slots=True)
class Readers:
    """A lake and a session for each way."""

    sources: Sources
    sessions: Mapping[str, ExecSession]

    def plan(self, text: str) -> ReadPlan:
        state = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
        plan = planned(text, state, self.sources)
        assert isinstance(plan, ReadPlan)
        return plan

    def rows(self, plan: ReadPlan, path: str) -> list[tuple[Any, ...]]:
        """Sorted; `EVERYTHING` opens every file."""
        if path == EVERYTHING:
            plan = replace(plan, scans=tuple(replace(scan, pruning=None) for scan in plan.scans))
        result = self.sessions[path].run_query(plan, StatementRequest(identity=Identity("ann")))
        table = pa.Table.from_batches(result.batches(), result.schema)
        return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


@contextmanager
def open_readers(lake: Path, driver: SparkDriver) -> Iterator[Readers]:
    sources = open_sources(EngineOptions(lake_folder=str(lake)))
    sessions = {path: driver.open_session() for path in READ_PATHS}
    for path, settings in READ_PATHS.items():
        for key, value in {"spark.sql.session.timeZone": "UTC", **settings}.items():
            sessions[path].set_setting(key, value)
    yield Readers(sources, sessions)
    for session in sessions.values():
        session.close()
    sources.close()
