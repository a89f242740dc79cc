"""Queries that clients send to the system catalog, with the columns that PostgreSQL returns for them.

`queries/<client>.sql` has a client's queries. A line `--- name` begins each; `--- parameters` in it is followed by
values as SQL literals, one a line. `{oid:schema.name}` stands for an oid. `queries/<client>.golden` has a JSON line per
query: the columns with the types' oids, and rows where both servers have the same.

`python -m tests.gateway.postgres.catalog_cases HOST PORT` records the golden files from a PostgreSQL server in which
`main` belongs to `alice` and is empty.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.gateway.postgres.sample_objects import DATABASE, POSTGRES_OBJECTS, SCHEMA, USER

QUERIES = Path(__file__).with_name("queries")
_OID = re.compile(r"\{oid:([^}]*)\}")
_OF_USERS = re.compile(r"'sales'|\(orders\)|\(customers\)|'orders'|\{oid:sales|^(sales|orders)$")
_ROWS_MAX = 60
# Types whose values are oids: oid, regproc and arrays of them.
_OID_TYPES = frozenset({24, 26, 28, 30, 1028, 2202, 2210, 4089})


@dataclass(frozen=True, slots=True)
class CatalogCase:
    """A query, with the text forms of its parameters."""

    client: str
    name: str
    text: str
    parameters: tuple[str | None, ...]

    def with_oids(self, oid_of: Callable[[str], int]) -> CatalogCase:
        """Returns the case with oids of one server."""

        def replaced(text: str) -> str:
            return _OID.sub(lambda found: str(oid_of(found[1])), text)

        parameters = tuple(value if value is None else replaced(value) for value in self.parameters)
        return CatalogCase(self.client, self.name, replaced(self.text), parameters)


def load_cases(client: str) -> list[CatalogCase]:
    """Returns the queries of a client."""
    text = (QUERIES / f"{client}.sql").read_text(encoding="utf-8")
    cases = []
    for piece in re.split(r"(?m)^--- (?!parameters)", text)[1:]:
        name, _, body = piece.partition("\n")
        query, _, values = body.partition("--- parameters\n")
        parameters = tuple(_value(line) for line in values.strip().splitlines())
        cases.append(CatalogCase(client, name, query.strip(), parameters))
    return cases


def _value(literal: str) -> str | None:
    return None if literal == "NULL" else literal[1:-1].replace("''", "'")


def clients() -> list[str]:
    """Returns the names of the clients."""
    return sorted(file.stem for file in QUERIES.glob("*.sql"))


def golden(client: str) -> list[dict[str, Any]]:
    """Returns what PostgreSQL returned for each query of a client."""
    lines = (QUERIES / f"{client}.golden").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def cell(value: object) -> object:
    """Returns a cell as JSON has it, the same for both servers."""
    if isinstance(value, list | tuple):
        return [cell(one) for one in value]
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def answered(connection: psycopg.Connection[Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields each client, and the answers of a server to its queries."""
    if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'sales'").fetchall():
        connection.execute(POSTGRES_OBJECTS)
    connection.execute(f"SET search_path = {SCHEMA}")

    def oid_of(name: str) -> int:
        if name.startswith("database:"):
            query, text = b"SELECT oid FROM pg_database WHERE datname = $1", name.partition(":")[2]
        else:
            kind = "regclass" if "." in name else "regnamespace"
            query, text = f"SELECT $1::{kind}::oid".encode(), name
        rows = psycopg.RawCursor(connection).execute(query, [text]).fetchall()
        return int(rows[0][0])

    for client in clients():
        yield client, [_answer(connection, case.with_oids(oid_of), case) for case in load_cases(client)]


def record(host: str, port: str) -> Iterator[str]:
    """Writes the golden files; yields a line for each client."""
    where = f"host={host} port={port} dbname={DATABASE} user={USER}"
    with psycopg.connect(where, autocommit=True) as connection:
        for client, found in answered(connection):
            lines = [json.dumps(answer, ensure_ascii=False) for answer in found]
            (QUERIES / f"{client}.golden").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            yield f"{client}: {len(lines)} queries"


def _answer(connection: psycopg.Connection[Any], case: CatalogCase, original: CatalogCase) -> dict[str, Any]:
    with psycopg.RawCursor(connection) as cursor:
        try:
            cursor.execute(case.text.encode(), case.parameters)
        except psycopg.Error as error:
            return {"error": error.sqlstate}
        columns = [(column.name, column.type_code) for column in cursor.description or ()]
        rows = cursor.fetchall()
    answer: dict[str, Any] = {"columns": columns}
    if _is_about_users(original) and len(rows) <= _ROWS_MAX:
        answer["rows"] = comparable(rows, [oid for _, oid in columns])
    return answer


def _is_about_users(case: CatalogCase) -> bool:
    """Returns True if a query's conditions select objects that both servers have."""
    texts = (case.text, *(value or "" for value in case.parameters))
    return any(_OF_USERS.search(text) for text in texts)


def comparable(rows: Iterable[Sequence[object]], oids: Sequence[int]) -> list[list[object]]:
    """Returns rows in an order of their own, without oids, which are different on each server."""
    compared = [place for place, oid in enumerate(oids) if oid not in _OID_TYPES]
    return sorted(([cell(row[place]) for place in compared] for row in rows), key=str)


if __name__ == "__main__":
    for done in record(*sys.argv[1:3]):
        print(done)
