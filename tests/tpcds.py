"""TPC-DS: DuckDB makes the tables and answers the queries, delta-rs writes the tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_tpcds
import pyarrow as pa
from deltalake import write_deltalake

ROWS_PER_FILE = 1_000_000
_QUOTED = re.compile(r'"([^"]+)"')


class Oracle:
    """One scale's tables in DuckDB, in a file if given."""

    def __init__(self, scale: float, file: Path | None = None) -> None:
        is_new = file is None or not file.exists()
        config: dict[str, str | bool | int | float | list[str]] = {"allow_unsigned_extensions": "true"}
        self._database = duckdb.connect(str(file) if file else ":memory:", config=config)
        extension = next(Path(duckdb_extension_tpcds.__file__).parent.rglob("tpcds.duckdb_extension"))
        self._database.execute(f"LOAD '{extension}'")
        if is_new:
            self._database.execute(f"CALL dsdgen(sf = {scale})")
        # The 99 texts by their numbers, as DuckDB has them.
        self.queries = dict(self._database.execute("FROM tpcds_queries()").fetchall())

    def write_tables(self, folder: Path) -> None:
        """Writes each table as a Delta table below `folder`, in row order."""
        for (table,) in self._database.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            rows = self._database.execute(f"FROM {table}").to_arrow_table()
            for start in range(0, max(1, len(rows)), ROWS_PER_FILE):
                write_deltalake(folder / table, rows.slice(start, ROWS_PER_FILE), mode="append")

    def answer(self, number: int) -> pa.Table:
        return self._database.execute(self.queries[number]).to_arrow_table()

    def close(self) -> None:
        self._database.close()


def spark_text(text: str) -> str:
    """Returns a DuckDB text in Spark's dialect, which quotes names by backticks."""
    return _QUOTED.sub(r"`\1`", text.strip().rstrip(";"))


def are_equal(ours: pa.Table, theirs: pa.Table) -> bool:
    """Compares two answers without order. Numbers are compared as doubles, as DuckDB divides them."""
    left, right = _sorted_rows(ours), _sorted_rows(theirs)
    return len(left) == len(right) and all(map(_are_equal_rows, left, right))


def _sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [list(map(_value, column.to_pylist())) for column in table.columns]
    return sorted(zip(*columns, strict=True), key=_order)


def _value(value: Any) -> Any:
    return float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value


def _order(row: Iterable[Any]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Texts first: numbers that are about equal may be in another order."""
    texts = tuple("" if isinstance(value, float) else str(value) for value in row)
    return texts, tuple(float(f"{value:.6g}") if isinstance(value, float) else 0.0 for value in row)


def _are_equal_rows(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return len(left) == len(right) and all(map(_are_equal_values, left, right))


def _are_equal_values(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-6)
    return left == right or str(left) == str(right)
