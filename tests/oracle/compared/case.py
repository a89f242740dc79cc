"""Comparison cases for delta-spark: statements that both engines run, each on a separate table.

A case has SQL steps, in which `{t}` is the table. After them the two logs are compared commit by commit and action by
action (`commits`), both tables' rows as both engines read them, change data feeds if enabled, and the answers to
`asks`. A failing step is compared by its error condition. Any difference fails the test, unless `explained` has a
reason for it.

To add a statement: write cases for it in its family's file (`delete_cases`, …) and add the file to `all_cases`. Steps
should create one file at a time (`files_of`), because the number of files from a query with several tasks depends on
the engine. `pytest -m oracle tests/oracle/test_compared_statements.py -k name` runs the selected cases only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    steps: tuple[str, ...]
    # Queries or DESCRIBE statements that answer the same rows, names and types included.
    asks: tuple[str, ...] = ()
    has_feed: bool = False
    # True if both engines read all rows in both tables, in addition to the case's own checks.
    is_read: bool = True


def made(columns: str, *steps: str, clauses: str = "", asks: Sequence[str] = (), **properties: str) -> Case:
    """Returns a table, and its steps; in a property name `__` is a dot, and `delta.` is prepended."""
    listed = ", ".join(f"'delta.{key.replace('__', '.')}' = '{value}'" for key, value in properties.items())
    create = f"CREATE TABLE {{t}} ({columns}) {clauses} {f'TBLPROPERTIES ({listed})' if listed else ''}"
    return Case(steps=(create, *steps), asks=tuple(asks), has_feed=properties.get("enableChangeDataFeed") == "true")


def files_of(*queries: str) -> tuple[str, ...]:
    """Returns INSERT statements with one file each (in each partition)."""
    return tuple(f"INSERT INTO {{t}} {query}" for query in queries)


def one_task(rows: str) -> str:
    """Returns a query over VALUES rows, in one task."""
    return f"SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}"
