"""A substitute for Spark: sums the rows in a query plan's files, and counts its runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.main import EngineOptions, open_sources
from engine.pipeline import parse_statement
from engine.planning.plans.reads import ReadPlan
from engine.runtime.accesses import Access, StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import BIGINT, Repeatable, ResultStream, small_result
from engine.runtime.session_state import SessionState
from engine.spark.query import ExecSession, SessionFacts
from engine.sql.query.values import Query
from engine.statements.grants.statement import GrantRights, RevokeRights
from tests.engine.contexts import run_on

ANN = Identity("ann")
DEFAULTS: Mapping[str, str] = MappingProxyType({})


@dataclass
class CountingSpark:
    """Returns the sum over column `n` and the number of rows. `during` is called while a query runs."""

    repeatable: Repeatable = Repeatable.ALWAYS
    settings: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)
    current: tuple[str, str] = ("spark_catalog", "default")
    during: Callable[[StatementRequest], None] = lambda _: None
    rows_made: int | None = None
    # Number of batches, each with the row.
    batches: int = 1
    runs: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def facts(self) -> SessionFacts:
        return SessionFacts(self.settings, self.current)

    def stream_query(
        self, plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        with self.lock:
            self.runs += 1
        self.during(request)
        request.cancel.ensure_live()
        total = count = 0
        for scan in plan.scans:
            for path in scan.files["path"].to_pylist():
                column = pq.read_table(f"{scan.table_root}/{path}", columns=["n"])["n"]
                total, count = total + (pc.sum(column).as_py() or 0), count + len(column)
        stream = small_result({"total": BIGINT, "count": BIGINT}, [(total, count)])
        stream.source = iter(list(stream.source) * self.batches)
        stream.repeatable, stream.rows_made = self.repeatable, self.rows_made
        return stream


class CachedLake:
    """A lake with a result cache, for statements that run on a :class:`CountingSpark`."""

    def __init__(self, folder: str, **options: Any) -> None:
        """`options` are for `EngineOptions`."""
        self.sources = open_sources(EngineOptions(lake_folder=folder, result_cache_bytes=1 << 20, **options))
        assert self.sources.results is not None
        self.cache = self.sources.results

    def answer(
        self,
        spark: CountingSpark,
        text: str,
        identity: Identity = ANN,
        parameters: Sequence[Parameter] = (),
        request: StatementRequest | None = None,
    ) -> tuple[int, int]:
        """Returns a statement's answer."""
        request = request or StatementRequest(identity=identity)
        result = self.run(spark, text, identity, parameters, request)
        ((total, count),) = zip(*pa.Table.from_batches(result.batches()).to_pydict().values(), strict=True)
        return total, count

    def run(
        self,
        spark: CountingSpark,
        text: str,
        identity: Identity = ANN,
        parameters: Sequence[Parameter] = (),
        request: StatementRequest | None = None,
    ) -> ResultStream:
        catalog, schema = spark.current
        state = SessionState(identity=identity, catalog=catalog, schema=schema)
        request = request or StatementRequest(identity=identity)
        statement = parse_statement(text)
        assert isinstance(statement, Query | GrantRights | RevokeRights)
        executor = cast(ExecSession, spark)
        return run_on(statement, state, self.sources, executor, request, parameters).result

    def versioned_answer(self, spark: CountingSpark, text: str) -> tuple[int, int, int]:
        """Returns the answer and the table version that the statement reports."""
        reported: list[Access] = []

        def note(access: StatementAccess) -> None:
            reported.extend(access.objects)

        request = StatementRequest(identity=ANN, on_authorized=note)
        answer = self.answer(spark, text, request=request)
        (version,) = {each.version for each in reported if each.version is not None}
        return *answer, version
