"""Unity Catalog's REST API 2.1, read-only: catalogs, schemas, tables, functions and volumes that the user may see.

    GET /api/2.1/unity-catalog/catalogs[/{name}]
    GET /api/2.1/unity-catalog/schemas?catalog_name=                      /schemas/{catalog.schema}
    GET /api/2.1/unity-catalog/tables?catalog_name=&schema_name=          /tables/{catalog.schema.table}[/exists]
    GET /api/2.1/unity-catalog/functions?catalog_name=&schema_name=       /functions/{catalog.schema.function}
    GET /api/2.1/unity-catalog/volumes?catalog_name=&schema_name=         /volumes/{catalog.schema.volume}

Lists have pages: `max_results` (0 and none: the server's page) and `page_token`, the name after which a page begins, so
that no page repeats or omits an object because others were created or dropped in between. Objects have the fields
that Databricks' SDKs, its Terraform provider and the client of the open-source Unity Catalog read. The first two dots
of a full name separate catalog, schema and object.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from flask import Blueprint, Response, jsonify, request

from catalog.conditions import (
    CatalogNotFound,
    FunctionNotFound,
    InvalidField,
    SchemaNotFound,
    TableNotFound,
    UnsupportedDataType,
    VolumeNotFound,
)
from catalog.errors import SqlError
from catalog.names import fold
from engine.sql.dialect.type_text import parse_type
from engine.statements.describe.statement import DescribeTable
from engine.statements.listings.statement import ListColumns, ListEntries, ObjectKind
from engine.types.schema import format_data_type
from gateway.http.browse import MetadataCalls, Rows, exact_pattern, rows_of
from gateway.http.encode import type_info
from gateway.http.queries import number_of, text_of
from gateway.http.statements import StatementApi
from gateway.observability.status import describe
from gateway.sessions.session import Session

API = "/api/2.1/unity-catalog"
_PAGE_MAX, _TABLES_PAGE = 1000, 50
# Databricks' error codes; the SDKs make a NotFound of any error with status 404.
_MISSING: Mapping[type[SqlError], str] = {
    CatalogNotFound: "CATALOG_DOES_NOT_EXIST",
    SchemaNotFound: "SCHEMA_DOES_NOT_EXIST",
    TableNotFound: "TABLE_DOES_NOT_EXIST",
    FunctionNotFound: "FUNCTION_DOES_NOT_EXIST",
    VolumeNotFound: "VOLUME_DOES_NOT_EXIST",
}
# In this API's fields, a stored default format has another name.
_FORMATS = {"delta": "DELTA", "iceberg": "ICEBERG"}

# SQLSTATEs of errors that are not about one table: a login that has ended, a limit, a server that stops.
_OF_THE_SERVER = ("28", "53", "54", "57", "XX")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Objects:
    """A kind of objects: the name of their list, and of the error for a name without one."""

    kind: ObjectKind
    name: str
    parts: int
    describe: Callable[[Json], Json]


def unity_catalog_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes of Unity Catalog's API below `/api/2.1/unity-catalog`."""
    routes = Blueprint("unity_catalog", __name__)
    routes.before_request(api.authenticate)
    catalog = _Catalog(MetadataCalls(api))

    @routes.get(f"{API}/catalogs")
    def catalogs() -> Json:
        return catalog.listed(CATALOGS)

    @routes.get(f"{API}/catalogs/<full_name>")
    def catalog_of(full_name: str) -> Json:
        return catalog.found(CATALOGS, full_name)

    @routes.get(f"{API}/schemas")
    def schemas() -> Json:
        return catalog.listed(SCHEMAS, catalog=text_of("catalog_name"))

    @routes.get(f"{API}/schemas/<full_name>")
    def schema_of(full_name: str) -> Json:
        return catalog.found(SCHEMAS, full_name)

    @routes.get(f"{API}/tables")
    def tables() -> Json:
        return catalog.listed_tables(text_of("catalog_name"), text_of("schema_name"))

    @routes.get(f"{API}/tables/<full_name>")
    def table_of(full_name: str) -> Json:
        return catalog.table(full_name)

    @routes.get(f"{API}/tables/<full_name>/exists")
    def table_exists(full_name: str) -> Json:
        return {"table_exists": catalog.table_exists(full_name)}

    @routes.get(f"{API}/functions")
    def functions() -> Json:
        return catalog.listed(FUNCTIONS, catalog=text_of("catalog_name"), schema=text_of("schema_name"))

    @routes.get(f"{API}/functions/<full_name>")
    def function_of(full_name: str) -> Json:
        return catalog.found(FUNCTIONS, full_name)

    @routes.get(f"{API}/volumes")
    def volumes() -> Json:
        return catalog.listed(VOLUMES, catalog=text_of("catalog_name"), schema=text_of("schema_name"))

    @routes.get(f"{API}/volumes/<full_name>")
    def volume_of(full_name: str) -> Json:
        return catalog.found(VOLUMES, full_name)

    for kind in _MISSING:
        routes.register_error_handler(kind, _not_found)
    return routes


def _not_found(error: SqlError) -> Response:
    failure = describe(error)
    body = {"error_code": _MISSING[type(error)], "message": failure.message, "sql_state": failure.sqlstate}
    response = jsonify(body | failure.details)
    response.status_code = HTTPStatus.NOT_FOUND
    return response


@dataclass(frozen=True, slots=True)
class _Catalog:
    """Answers the routes by metadata calls, whose results contain only visible objects."""

    calls: MetadataCalls

    def listed(self, objects: _Objects, *, catalog: str = "", schema: str = "") -> Json:
        """Returns a page of a list."""
        with self.calls.session() as session:
            entries, following = _page(session, objects.kind, catalog, schema, _PAGE_MAX)
        return _list_of(objects.name, [objects.describe(entry) for entry in entries], following)

    def found(self, objects: _Objects, full_name: str) -> Json:
        """Returns one object."""
        with self.calls.session() as session:
            return objects.describe(_entry(session, objects, full_name))

    def listed_tables(self, catalog: str, schema: str) -> Json:
        """Returns a page of tables and views, with their columns and properties unless the request omits them."""
        omits = {part: request.args.get(f"omit_{part}") == "true" for part in ("columns", "properties")}
        with self.calls.session() as session:
            entries, following = _page(session, ObjectKind.TABLE, catalog, schema, _TABLES_PAGE)
            found = [self._described(session, entry, omits) for entry in entries]
        return _list_of(TABLES.name, found, following)

    def table(self, full_name: str) -> Json:
        with self.calls.session() as session:
            entry = _entry(session, TABLES, full_name)
            return self._described(session, entry, {"columns": False, "properties": False}, must_open=True)

    def table_exists(self, full_name: str) -> bool:
        try:
            self.found(TABLES, full_name)
        except tuple(_MISSING):
            return False
        return True

    def _described(self, session: Session, entry: Json, omits: Mapping[str, bool], *, must_open: bool = False) -> Json:
        """Returns a table with the fields of its log; in a list, an unreadable table has the catalog's fields only."""
        table = _table(entry)
        try:
            if not omits["properties"]:
                table |= _of_log(_detail(session, entry["name"]))
            if not omits["columns"]:
                table["columns"] = _columns(session, entry["name"], table.pop("partition_columns", []))
        except SqlError as error:
            if must_open or error.sqlstate.startswith(_OF_THE_SERVER):
                raise
        table.pop("partition_columns", None)
        return table


def _page(
    session: Session, kind: ObjectKind, catalog: str, schema: str, page_max: int
) -> tuple[Sequence[Json], str | None]:
    """Returns a page of entries, and the token of the next one."""
    limit = number_of("max_results", default=0, largest=2**31 - 1)
    limit = min(limit or page_max, page_max)
    after = _after(request.args.get("page_token"))
    statement = ListEntries(kind=kind, catalog=catalog, schema=schema, after=after, limit=limit + 1)
    entries = _entries(rows_of(session, statement))
    if len(entries) <= limit:
        return entries, None
    return entries[:limit], urlsafe_b64encode(fold(entries[limit - 1]["name"][-1]).encode()).decode()


def _after(token: str | None) -> str:
    try:
        return urlsafe_b64decode(token or "").decode()
    except ValueError:
        raise InvalidField("page_token", "must be one that an earlier page has returned") from None


def _list_of(name: str, found: Sequence[Json], following: str | None) -> Json:
    return {name: found} | ({} if following is None else {"next_page_token": following})


def _entry(session: Session, objects: _Objects, full_name: str) -> Json:
    """Returns an object's catalog entry; a name with too few parts is one that does not exist."""
    parts = full_name.split(".", objects.parts - 1)
    if len(parts) < objects.parts or not all(parts):
        raise InvalidField("full_name", f"must have {objects.parts} parts with dots between them")
    catalog, schema = (*parts[:-1], "", "")[:2]
    statement = ListEntries(kind=objects.kind, catalog=catalog, schema=schema, name=parts[-1])
    return _entries(rows_of(session, statement))[0]


def _entries(rows: Rows) -> list[Json]:
    return [json.loads(str(row["entry"])) for row in rows]


def _detail(session: Session, name: Sequence[str]) -> Json:
    described = rows_of(session, DescribeTable(table_parts=tuple(name), extended=True, as_json=True))
    detail: Json = json.loads(str(described[0]["json_metadata"]))
    return detail


def _of_log(detail: Json) -> Json:
    """Returns the fields that come from a table's log, or a view's definition."""
    return {
        "comment": detail.get("comment"),
        "properties": detail.get("table_properties") or {},
        "partition_columns": detail.get("partition_columns") or [],
    }


def _columns(session: Session, name: Sequence[str], partition_columns: Sequence[str]) -> list[Json]:
    catalog, schema, table = name
    statement = ListColumns(catalog=catalog, schema_pattern=exact_pattern(schema), table_pattern=exact_pattern(table))
    places = {column: place for place, column in enumerate(partition_columns)}
    return [
        _without_nulls(
            {
                "name": row["column"],
                "position": number,
                "nullable": row["nullable"],
                "comment": row["comment"],
                "partition_index": places.get(str(row["column"])),
                **_type(str(row["column"]), str(row["sql_type"]), is_nullable=bool(row["nullable"])),
            }
        )
        for number, row in enumerate(rows_of(session, statement))
        if row["table"] == table
    ]


def _type(name: str, sql_type: str, *, is_nullable: bool = True) -> Json:
    """Returns a type's fields; `type_json` is the field in Spark's JSON, with the type's text if tables cannot have
    it.
    """
    try:
        type_ = format_data_type(parse_type(sql_type).data_type)
    except UnsupportedDataType:
        type_ = sql_type
    field = {"name": name, "type": type_, "nullable": is_nullable, "metadata": {}}
    text = json.dumps(field, ensure_ascii=False, separators=(",", ":"))
    return type_info(sql_type) | {"type_text": sql_type, "type_json": text}


def _common(entry: Json) -> Json:
    """Returns the fields that objects of all kinds have. An id is made from the name: a catalog here has none."""
    name = ".".join(entry["name"])
    return {
        "name": entry["name"][-1],
        "full_name": name,
        "owner": entry.get("owner"),
        "comment": entry.get("comment"),
        "created_at": entry.get("created_ms"),
        "created_by": entry.get("created_by"),
        "updated_at": entry.get("altered_ms") or entry.get("created_ms"),
        "updated_by": entry.get("altered_by") or entry.get("created_by"),
        "browse_only": False,
    }


def _id(entry: Json) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(map(fold, entry["name"]))))


def _catalog(entry: Json) -> Json:
    kind = "SYSTEM_CATALOG" if entry["name"] == ["system"] else "MANAGED_CATALOG"
    return _without_nulls(
        _common(entry)
        | {
            "id": _id(entry),
            "catalog_type": "FOREIGN_CATALOG" if entry["is_foreign"] else kind,
            "securable_type": "CATALOG",
            "isolation_mode": "OPEN",
            "properties": {},
        }
    )


def _schema(entry: Json) -> Json:
    location = entry.get("location")
    own: Json = {"schema_id": _id(entry), "storage_root": location, "storage_location": location, "properties": {}}
    return _without_nulls(_common(entry) | {"catalog_name": entry["name"][0]} | own)


def _in_schema(entry: Json) -> Json:
    return _common(entry) | {"catalog_name": entry["name"][0], "schema_name": entry["name"][1]}


def _table(entry: Json) -> Json:
    provider = entry.get("format")
    return _without_nulls(
        _in_schema(entry)
        | {
            "table_id": _id(entry),
            "table_type": entry["type"],
            "data_source_format": _FORMATS.get(provider, provider.upper()) if provider else None,
            "storage_location": entry.get("location"),
            "view_definition": entry.get("text"),
            "properties": entry.get("properties", {}),
        }
    )


def _function(entry: Json) -> Json:
    is_table = bool(entry["table_columns"])
    returns: Json = {"data_type": "TABLE_TYPE"} if is_table else {"data_type": type_info(entry["returns"])["type_name"]}
    if is_table:
        returns["return_params"] = {"parameters": [_parameter(*each) for each in enumerate(entry["table_columns"])]}
    full_type = ", ".join(f"{each['name']} {each['type']}" for each in entry["table_columns"])
    return _without_nulls(
        _in_schema(entry)
        | returns
        | {
            "function_id": _id(entry),
            "full_data_type": f"({full_type})" if is_table else entry["returns"],
            "input_params": {"parameters": [_parameter(*each) for each in enumerate(entry["parameters"])]},
            "routine_body": "SQL",
            "routine_definition": entry.get("body"),
            "is_deterministic": entry.get("is_deterministic"),
            "is_null_call": False,
            "parameter_style": "S",
            "security_type": "DEFINER",
            "specific_name": entry["name"][-1],
            "sql_data_access": "READS_SQL_DATA",
            "properties": "{}",
        }
    )


def _parameter(position: int, each: Json) -> Json:
    return _without_nulls(
        {
            "name": each["name"],
            "position": position,
            "parameter_mode": "IN",
            "parameter_type": "PARAM",
            "parameter_default": each.get("default"),
            "comment": each.get("comment"),
            **_type(each["name"], each["type"]),
        }
    )


def _volume(entry: Json) -> Json:
    own = {"volume_id": _id(entry), "volume_type": entry["type"], "storage_location": entry.get("location")}
    return _without_nulls(_in_schema(entry) | own)


def _without_nulls(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


CATALOGS = _Objects(ObjectKind.CATALOG, "catalogs", 1, _catalog)
SCHEMAS = _Objects(ObjectKind.SCHEMA, "schemas", 2, _schema)
TABLES = _Objects(ObjectKind.TABLE, "tables", 3, _table)
FUNCTIONS = _Objects(ObjectKind.FUNCTION, "functions", 3, _function)
VOLUMES = _Objects(ObjectKind.VOLUME, "volumes", 3, _volume)
