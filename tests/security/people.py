"""Sessions with Spark, one per principal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.executed_plan import ExecutedPlan
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.runtime.statement import Statement
from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake


class People:
    """Sessions with Spark, one per principal."""

    def __init__(self, lake: GuardedLake, driver: SparkDriver) -> None:
        self._lake, self._engine = lake, LakeEngine(lake.sources, driver)
        self._sessions: dict[str, LakeSession] = {}

    def _result(self, who: str, text: str | Statement, request: StatementRequest | None = None) -> ResultStream:
        identity = self._lake.identity(who)
        if who not in self._sessions:
            self._sessions[who] = self._engine.open_session(identity, settings={}, catalog=None, schema=None)
        request = request or StatementRequest(identity=identity)
        session = self._sessions[who]
        return session.execute(text, request) if isinstance(text, str) else session.run(text, request)

    def plans(self, who: str, text: str) -> tuple[ExecutedPlan, ...]:
        """Returns the plans that were executed for a statement."""
        request = StatementRequest(identity=self._lake.identity(who))
        result = self._result(who, text, request)
        list(result.batches())
        result.close()
        return request.profile.plans

    def describe(self, who: str, text: str) -> tuple[str, ...]:
        """Returns an ended statement's log, as a client reads it."""
        request = StatementRequest(identity=self._lake.identity(who))
        result = self._result(who, text, request)
        list(result.batches())
        result.close()
        return request.profile.log_lines

    def table(self, who: str, text: str | Statement) -> pa.Table:
        result = self._result(who, text)
        try:
            return pa.Table.from_batches(result.batches(), result.schema)
        finally:
            result.close()

    def rows(self, who: str, text: str | Statement) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.table(who, text).columns), strict=True))

    def count(self, who: str, text: str) -> int:
        """Returns the number of rows that a statement reports as changed."""
        counts = self._result(who, text).row_counts
        assert counts is not None
        return counts.affected

    def refuse(self, who: str, text: str) -> SqlError:
        with pytest.raises(SqlError) as caught:
            self.rows(who, text)
        return caught.value

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
