"""The gateway compared with stock Spark over the same rows in plain Parquet files: names, types and each cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run, table
from tests.fix_spark import INTERPRETED


class BesideSpark:
    """A session of the gateway, and stock Spark over copies of the tables."""

    def __init__(self, session: LakeSession, spark: Any, copies: Path) -> None:
        self.session, self.spark, self._copies = session, spark, copies
        for key, value in INTERPRETED.items():
            spark.conf().set(key, value)
        # Spark's answers under the current settings, by text.
        self._theirs: dict[str, tuple[Any, Any]] = {}

    @contextmanager
    def setting(self, key: str, value: str) -> Iterator[None]:
        """Sets a configuration in both sessions."""
        run(self.session, f"SET {key} = {value}")
        self.spark.conf().set(key, value)
        self._theirs.clear()
        try:
            yield
        finally:
            self._theirs.clear()
            run(self.session, f"RESET {key}")
            if key in INTERPRETED:
                self.spark.conf().set(key, INTERPRETED[key])
            else:
                self.spark.conf().unset(key)

    def copy(self, *names: str) -> None:
        for name in names:
            pq.write_table(table(self.session, f"SELECT * FROM {name}"), self._copies / f"{name}.parquet")
            self.spark.read().parquet(str(self._copies / f"{name}.parquet")).createOrReplaceTempView(name)

    def answers(self, text: str) -> tuple[Any, Any]:
        """Returns columns and sorted rows from both."""
        found = table(self.session, text)
        ours = [tuple(map(_shown, row.values())) for row in found.to_pylist()]
        shown = {field.name: _spark_type(field.type) for field in found.schema}
        if text not in self._theirs:
            self._theirs[text] = self._answer_of_spark(text)
        return (shown, sorted(ours, key=repr)), self._theirs[text]

    def _answer_of_spark(self, text: str) -> tuple[Any, Any]:
        frame = self.spark.sql(text)
        rows = [tuple(_shown(row.get(at)) for at in range(row.size())) for row in frame.collectAsList()]
        types = {field.name(): field.dataType().simpleString() for field in frame.schema().fields()}
        return types, sorted(rows, key=repr)

    def plan(self, text: str) -> str:
        """Returns the plan from EXPLAIN EXTENDED."""
        ((plan,),) = rows(self.session, f"EXPLAIN EXTENDED {text}")
        assert isinstance(plan, str)
        return plan

    def ensure_same(self, text: str) -> None:
        ours, theirs = self.answers(text)
        assert ours == theirs, text


def _shown(value: Any) -> str | None:
    return None if value is None else format(value, "f") if isinstance(value, Decimal) else str(value)


def _spark_type(data_type: pa.DataType) -> str:
    names = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint", pa.int8(): "tinyint"}
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    return names.get(data_type, str(data_type))
