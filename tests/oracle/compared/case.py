"""What is compared with delta-spark: statements that both engines run, each on a table of its own.

A case is steps of SQL, in which `{t}` is the table. After them the two logs are compared commit by commit and action
by action (`commits`), the rows of both tables as both engines read them, the change data feeds where there are some,
and the answers to `asks`. A step that fails is compared too: by the condition of its error. Whatever differs fails the
test, unless `explained` says why it has to differ.

To add a statement: write cases for it in a file of its family (`delete_cases`, …) and name the file in `all_cases`.
Steps should make one file at a time (`files_of`), because how many files a query of several tasks makes is up to the
engine. `pytest -m oracle tests/oracle/test_compared_statements.py -k name` runs the selected cases only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    steps: tuple[str, ...]
    asks: tuple[str, ...] = ()
    """Queries or DESCRIBE statements that answer the same rows, names and types included."""
    has_feed: bool = False
    is_read: bool = True
    """Returns whether both engines read all rows of both tables, in addition to the case's own checks."""


def made(columns: str, *steps: str, clauses: str = "", asks: tuple[str, ...] = (), **properties: str) -> Case:
    """A table, and its steps; in the name of a property `__` is a dot, and `delta.` is put before it."""
    listed = ", ".join(f"'delta.{key.replace('__', '.')}' = '{value}'" for key, value in properties.items())
    create = f"CREATE TABLE {{t}} ({columns}) {clauses} {f'TBLPROPERTIES ({listed})' if listed else ''}"
    return Case(steps=(create, *steps), asks=asks, has_feed=properties.get("enableChangeDataFeed") == "true")


def files_of(*queries: str) -> tuple[str, ...]:
    """INSERT statements of one file each (in each partition)."""
    return tuple(f"INSERT INTO {{t}} {query}" for query in queries)


def one_task(rows: str) -> str:
    """A query of the rows of VALUES, in one task."""
    return f"SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}"
