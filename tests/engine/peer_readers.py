"""Rows in a Delta table as other readers return them, in a form that can be compared cell by cell."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from tests.duck import open_duckdb

Rows = list[tuple[Any, ...]]


def deltalake_rows(folder: Path, columns: list[str]) -> Rows:
    """Returns the rows as delta-rs reads them."""
    query = QueryBuilder().register("t", DeltaTable(folder))
    return comparable(pa.table(query.execute(f"SELECT {_quoted(columns)} FROM t").read_all()))


def duckdb_rows(folder: Path, columns: list[str]) -> Rows:
    """Returns the rows as the Delta kernel in DuckDB reads them."""
    return comparable(duck()(f"SELECT {_quoted(columns)} FROM delta_scan('{folder}')"))


PEERS: dict[str, Callable[[Path, list[str]], Rows]] = {"deltalake": deltalake_rows, "duckdb": duckdb_rows}


@cache
def duck() -> Callable[[str], pa.Table]:
    """Runs a query in DuckDB with its packaged delta extension; instants are in UTC."""
    connection = open_duckdb()
    return lambda query: connection.execute(query).to_arrow_table()


def comparable(table: pa.Table) -> Rows:
    """Returns the rows, sorted, in values that are equal exactly if the cells are: no NaN, no zero without its sign."""
    return comparable_rows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def comparable_rows(rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Converts rows as `comparable` does."""
    return sorted((tuple(map(_cell, row)) for row in rows), key=repr)


def _cell(value: Any) -> Any:
    match value:
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case Decimal():
            return value.normalize()
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat()
        case dict():
            return tuple((name, _cell(item)) for name, item in value.items())
        case list() | tuple():
            return tuple(map(_cell, value))
        case _:
            return value


def _quoted(columns: list[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
