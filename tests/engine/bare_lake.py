"""Statements that need no Spark, through the whole pipeline over a lake; deltalake writes and reads the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.errors import SqlError
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA
from engine.binding.sources import Sources
from engine.main import EngineOptions, open_sources
from engine.pipeline import parse_statement
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.runtime.statement import Statement
from tests.engine.contexts import run_on


class BareLake:
    """One session, without an executor."""

    def __init__(self, folder: Path, catalog: Path | None = None) -> None:
        """`catalog` is the folder of the catalog's files; if None, the catalog is in memory."""
        self.folder = folder
        options = EngineOptions(lake_folder=str(folder), catalog_folder=None if catalog is None else str(catalog))
        self.sources: Sources = open_sources(options)
        self.state = SessionState(identity=Identity("ann"), catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)

    def answer(self, text: str, request: StatementRequest | None = None) -> pa.Table:
        return self._run(parse_statement(text), request or StatementRequest(identity=Identity("ann")))

    def rows_of(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Returns the rows of a parsed statement."""
        found = self._run(statement, StatementRequest(identity=Identity("ann")))
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _run(self, statement: Any, request: StatementRequest) -> pa.Table:
        outcome = run_on(statement, self.state, self.sources, None, request)
        if outcome.change is not None:
            self.state = outcome.change(self.state)
        return pa.Table.from_batches(outcome.result.batches(), outcome.result.schema)

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.answer(text).columns), strict=True))

    def refuse(self, text: str) -> SqlError:
        """Returns the error that a failing statement raises."""
        with pytest.raises(SqlError) as caught:
            self.answer(text)
        return caught.value

    def path(self, name: str) -> Path:
        return self.folder / "default" / name

    def append(self, name: str, columns: dict[str, Sequence[Any]], **options: Any) -> None:
        """Rows from deltalake, as one file in each partition; makes the table if it is not there."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        write_deltalake(self.path(name), pa.table(columns), mode="append", **options)

    def table(self, name: str, version: int | None = None) -> pa.Table:
        """Returns the table as deltalake reads it."""
        return DeltaTable(self.path(name), version=version).to_pyarrow_table()

    def operations(self, name: str) -> list[tuple[str, dict[str, str], dict[str, str]]]:
        """Returns the table's history, oldest first: operation, parameters, metrics."""
        found = self.answer(f"DESCRIBE HISTORY {name}").select(["operation", "operationParameters", "operationMetrics"])
        columns = (column.to_pylist()[::-1] for column in found.columns)
        return [(name, dict(one or ()), dict(two or ())) for name, one, two in zip(*columns, strict=True)]
