"""The catalog as JSON, for a catalog browser. Each call is a metadata call that takes a statement's pipeline.

Therefore objects that are not visible to a user are absent, and details without the required privileges are rejected as
in SQL.

    GET /api/2.0/catalog/catalogs                            names, and `system`, which SHOW CATALOGS leaves out;
                                                             `current` is the one that statements begin in
    GET /api/2.0/catalog/schemas?catalog=
    GET /api/2.0/catalog/tables?catalog=&schema=             tables and views
    GET /api/2.0/catalog/columns?catalog=&schema=[&table=]   columns of all tables, for completion
    GET /api/2.0/catalog/table?catalog=&schema=&table=[&version=]   as DESCRIBE TABLE EXTENDED … AS JSON
    GET /api/2.0/catalog/detail?catalog=&schema=&table=      as DESCRIBE DETAIL
    GET /api/2.0/catalog/versions?catalog=&schema=&table=[&limit=]  as DESCRIBE HISTORY
    GET /api/2.0/catalog/files?catalog=&schema=&table=[&version=][&limit=]
    GET /api/2.0/catalog/column_statistics?catalog=&schema=&table=[&version=]   as the log has them
    GET /api/2.0/catalog/lineage?catalog=&schema=&table=     relations that a view reads, views that read a relation,
                                                             and edges by the statements that wrote tables

Names are parameters and not path segments, since a name may contain any character.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import pyarrow as pa
from flask import Blueprint, request

from catalog.conditions import EngineNotAnswering, TooManyWaiting
from catalog.system.audit_table import SYSTEM_CATALOG
from engine.runtime.results import sql_type_of
from engine.runtime.statement import Statement
from engine.statements.describe.statement import DescribeDetail, DescribeHistory, DescribeTable
from engine.statements.listings.statement import (
    ListColumns,
    ListColumnStatistics,
    ListFiles,
    ListLineage,
    ListSchemas,
    ListTables,
)
from engine.statements.show.statement import ShowCatalogs
from gateway.http.queries import number_of, text_of
from gateway.http.requests import SessionRequest
from gateway.http.statements import StatementApi
from gateway.sessions.session import Session

API = "/api/2.0/catalog"
ROWS_MAX = 100_000
_OPEN_S, _ANSWER_S = 5.0, 60.0
_VERSION_MAX = 2**63 - 1

Rows = list[dict[str, object]]


def browse_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes of the catalog browser below `/api/2.0/catalog`."""
    routes = Blueprint("browse", __name__)
    calls = MetadataCalls(api)
    routes.before_request(api.authenticate)

    @routes.get(f"{API}/catalogs")
    def catalogs() -> dict[str, object]:
        with calls.session() as session:
            found = [{"name": row["catalog"]} for row in rows_of(session, ShowCatalogs())]
            current = session.engine_session.current_catalog
        return {"catalogs": [*found, {"name": SYSTEM_CATALOG}], "current": current}

    @routes.get(f"{API}/schemas")
    def schemas() -> dict[str, object]:
        found = calls.rows(ListSchemas(catalog=text_of("catalog")))
        return {"schemas": [{"catalog": row["catalog"], "name": row["schema"]} for row in found]}

    @routes.get(f"{API}/tables")
    def tables() -> dict[str, object]:
        found = calls.rows(ListTables(catalog=text_of("catalog"), schema_pattern=exact_pattern(text_of("schema"))))
        return {"tables": [_with_name(row, "table") for row in found]}

    @routes.get(f"{API}/columns")
    def columns() -> dict[str, object]:
        table = request.args.get("table")
        listing = ListColumns(
            catalog=text_of("catalog"),
            schema_pattern=exact_pattern(text_of("schema")),
            table_pattern=None if table is None else exact_pattern(table),
        )
        return {"columns": [_with_name(row, "column") for row in calls.rows(listing)]}

    @routes.get(f"{API}/table")
    def table() -> dict[str, object]:
        listing = DescribeTable(table_parts=_table(), extended=True, as_json=True, version=_version())
        table_json: dict[str, object] = json.loads(str(calls.rows(listing)[0]["json_metadata"]))
        return table_json

    @routes.get(f"{API}/detail")
    def detail() -> dict[str, object]:
        return calls.rows(DescribeDetail(table_parts=_table()))[0]

    @routes.get(f"{API}/versions")
    def versions() -> dict[str, object]:
        limit = number_of("limit", default=100, smallest=1, largest=ROWS_MAX)
        return {"versions": calls.rows(DescribeHistory(table_parts=_table(), limit=limit))}

    @routes.get(f"{API}/files")
    def files() -> dict[str, object]:
        limit = number_of("limit", default=1000, smallest=1, largest=ROWS_MAX)
        return {"files": calls.rows(ListFiles(table_parts=_table(), version=_version(), limit=limit))}

    @routes.get(f"{API}/column_statistics")
    def column_statistics() -> dict[str, object]:
        return _statistics(calls.rows(ListColumnStatistics(table_parts=_table(), version=_version())))

    @routes.get(f"{API}/lineage")
    def lineage() -> dict[str, object]:
        found = calls.rows(ListLineage(table_parts=_table()))
        sides = {"upstream": True, "downstream": False}
        return {name: [_neighbor(row) for row in found if row["is_upstream"] is side] for name, side in sides.items()}

    return routes


def _statistics(rows: Rows) -> dict[str, object]:
    columns = [
        {
            "name": row["column"],
            "type": row["type"],
            "min": row["min"],
            "max": row["max"],
            "is_exact": row["is_exact"],
            "null_count": row["null_count"],
        }
        for row in rows
    ]
    first = rows[0] if rows else {"table_rows": None, "table_files": 0}
    return {"rows": first["table_rows"], "files": first["table_files"], "columns": columns}


def _neighbor(row: Mapping[str, object]) -> dict[str, object]:
    own = {key: value for key, value in row.items() if key not in ("is_upstream", "columns_json")}
    return _with_name(own, "table") | {"columns": json.loads(str(row["columns_json"]))}


@dataclass(frozen=True, slots=True)
class MetadataCalls:
    """Metadata calls, each in its own session."""

    api: StatementApi

    def rows(self, statement: Statement) -> Rows:
        """Returns one call's rows, from its own session; raises the statement's error."""
        with self.session() as session:
            return rows_of(session, statement)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Opens a session for statements that name no catalog and no schema."""
        registry = self.api.registry()
        identity = self.api.identity()
        with self.api.wait_queue.place() as may_wait:
            if not may_wait:
                raise TooManyWaiting(self.api.wait_queue.places)
            session = self.api.open(
                SessionRequest(catalog=None, schema=None, settings={}), _OPEN_S, may_lack_schema=True
            )
            try:
                yield session
            finally:
                self.api.end(partial(registry.close_session, session.id, identity))


def rows_of(session: Session, statement: Statement) -> Rows:
    """Returns the rows by column name, as JSON values."""
    operation = session.request(statement)
    if not operation.wait(_ANSWER_S).is_final:
        raise EngineNotAnswering(_ANSWER_S)
    try:
        return json_values(operation.page(0, ROWS_MAX).rows)
    finally:
        session.forget(operation)  # a session may have few open statements, and an answer take many


def json_values(table: pa.Table) -> Rows:
    """Returns a metadata call's rows: maps are objects, and times milliseconds since the epoch."""
    maps = {field.name for field in table.schema if sql_type_of(field).startswith("map<")}
    return [{name: _json_value(cell, name in maps) for name, cell in row.items()} for row in table.to_pylist()]


def _json_value(cell: object, is_map: bool) -> object:
    if is_map and isinstance(cell, list):
        return dict(cell)
    if isinstance(cell, datetime):
        return int(cell.timestamp() * 1000)
    return cell


def _with_name(row: Mapping[str, object], own: str) -> dict[str, object]:
    """Renames the object's own name to `name`."""
    return {"name": row[own], **{key: value for key, value in row.items() if key != own}}


def _table() -> tuple[str, str, str]:
    return text_of("catalog"), text_of("schema"), text_of("table")


def _version() -> int | None:
    return number_of("version", default=0, largest=_VERSION_MAX) if "version" in request.args else None


def exact_pattern(name: str) -> str:
    """Returns a JDBC pattern that matches exactly one name."""
    return name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
