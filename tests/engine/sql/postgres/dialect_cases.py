"""Queries in PostgreSQL's dialect with PostgreSQL's answers.

`cases.sql` has a query per line (a line that begins with `from` goes on), `cases.golden` a JSON line per query: labels
and rows. `python -m tests.engine.sql.postgres.dialect_cases HOST PORT DATABASE USER` records the answers of a server.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

FOLDER = Path(__file__).parent
# Tables: columns in PostgreSQL and in Spark, and rows.
TABLES = {
    "numbers": (
        "id int, a int, b bigint, s smallint, n numeric(10,2), f double precision, ok boolean",
        "id int, a int, b bigint, s smallint, n decimal(10,2), f double, ok boolean",
        "(1, 1, 10, 3, 12.50, 1.5, true), (2, 2, 7, 2, -3.25, 2.5, false), (3, 7, 0, 0, 100.00, -0.5, true), "
        "(4, -5, 3, 1, 0.01, 1000000, null), (5, null, 2, null, null, null, false)",
    ),
    "events": (
        "id int, d date, ts timestamp, tz timestamptz, note text, code varchar(5)",
        "id int, d date, ts timestamp_ntz, tz timestamp, note string, code varchar(5)",
        "(1, '2024-01-15', '2024-01-15 10:20:30.5', '2024-01-15 10:20:30.5+00', 'Alpha', 'a1'), "
        "(2, '2024-02-29', '2024-02-29 23:59:59', '2024-02-29 23:59:59+00', 'banana', 'b2'), "
        "(3, '2023-12-31', '2023-12-31 00:00:00', '2023-12-31 00:00:00+00', 'Cab', 'c3'), "
        "(6, '2024-01-07', '2024-01-07 05:06:07.123456', '2024-07-07 05:06:07.123456+00', null, 'c3')",
    ),
    "docs": (
        "id int, j text",
        "id int, j string",
        """(1, '{"a":"x","b":{"c":"y"},"n":5,"l":["p","q"]}'), (2, '{"a":null,"n":7}')""",
    ),
}
ARRAYS = {
    "postgres": "(1, '{1,2,3}', '{a,b}'), (2, '{}', '{c}'), (3, null, null)",
    "spark": "(1, array(1, 2, 3), array('a', 'b')), (2, array(), array('c')), (3, null, null)",
}
ORDERED = re.compile(r"(?i)\border by\b[^()]*$")


def postgres_statements() -> Iterator[str]:
    """Yields the statements that create the tables in PostgreSQL."""
    for name, (columns, _, rows) in TABLES.items():
        typed = rows if name != "docs" else rows
        yield f"CREATE TABLE {name} ({columns.replace('j text', 'j jsonb')})"
        yield f"INSERT INTO {name} VALUES {typed}"
    yield "CREATE TABLE arrays (id int, xs int[], ws text[])"
    yield f"INSERT INTO arrays VALUES {ARRAYS['postgres']}"


def spark_statements() -> Iterator[str]:
    """Yields the statements that create the tables here."""
    for name, (_, columns, rows) in TABLES.items():
        yield f"CREATE TABLE {name} ({columns})"
        if name == "events":
            rows = re.sub(r"'(\d{4}-\d\d-\d\d)'", r"date '\1'", rows)
            rows = re.sub(r"'(\d{4}-\d\d-\d\d [\d:.]+)'", r"timestamp_ntz '\1'", rows)
            rows = re.sub(r"'(\d{4}-\d\d-\d\d [\d:.]+\+00)'", r"timestamp '\1:00'", rows)
        yield f"INSERT INTO {name} VALUES {rows}"
    yield "CREATE TABLE arrays (id int, xs array<int>, ws array<string>)"
    yield f"INSERT INTO arrays VALUES {ARRAYS['spark']}"


def queries() -> list[str]:
    """Returns the queries."""
    text = (FOLDER / "cases.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("--")]
    return "\n".join(lines).replace("\nfrom ", " from ").split("\n")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A statement, and the offset of the place that its error names."""

    text: str
    offset: int


def refusals() -> list[Refusal]:
    """Returns the statements that are rejected."""
    lines = (FOLDER / "refusals.sql").read_text(encoding="utf-8").splitlines()
    return [Refusal(line.replace("^", "", 1), line.index("^")) for line in lines if line and not line.startswith("--")]


def answers() -> list[dict[str, Any]]:
    """Returns PostgreSQL's answers."""
    return [json.loads(line) for line in (FOLDER / "cases.golden").read_text(encoding="utf-8").splitlines()]


def comparable(text: str, rows: Iterable[Sequence[object]]) -> list[list[object]]:
    """Returns the cells in a form that is the same for both servers; the order counts if the query has one."""
    made = [[_cell(value) for value in row] for row in rows]
    return made if ORDERED.search(text) else sorted(made, key=str)


def _cell(value: object) -> object:
    match value:
        case bool() | None:
            return value
        case int() | float() | Decimal():
            number = float(value)
            return f"{number:.9g}" if number else "0"
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value
            return moment.replace(tzinfo=None).isoformat()
        case date():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():g} s"
        case list() | tuple():
            return [_cell(one) for one in value]
        case bytes():
            return value.hex()
        case _:  # a value of a driver
            return str(value).strip()


def answered(connection: psycopg.Connection[Any]) -> Iterator[dict[str, Any]]:
    """Yields the answers of a server whose database has none of the tables, or all."""
    if not connection.execute("SELECT 1 FROM pg_tables WHERE tablename = 'numbers'").fetchall():
        for statement in postgres_statements():
            connection.execute(statement.encode())
    for text in queries():
        cursor = psycopg.RawCursor(connection).execute(text.encode())
        labels = [column.name for column in cursor.description or ()]
        yield {"labels": labels, "rows": comparable(text, cursor.fetchall())}


def record(where: str) -> int:
    """Writes the answers of a server; returns their number."""
    with psycopg.connect(where, autocommit=True, options="-c TimeZone=UTC") as connection:
        lines = [json.dumps(answer, ensure_ascii=False) for answer in answered(connection)]
    (FOLDER / "cases.golden").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


if __name__ == "__main__":
    host, port, database, user = sys.argv[1:5]
    print(record(f"host={host} port={port} dbname={database} user={user}"))
