"""The HTTP interface as an OpenAPI 3.1 document, at `/api/openapi.json`; a test compares it with the routes.

Each row in :data:`OPERATIONS` is a path's method. Thrift calls over HTTP are not included: they are HiveServer2's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from flask import Blueprint

from gateway.http.openapi_schemas import COUNT, POSITIVE, SCHEMAS, STRING, WAIT, Schema, ref
from gateway.release import VERSION

PATH = "/api/openapi.json"
_ERRORS = {
    HTTPStatus.BAD_REQUEST: "Something is wrong with the request, or with what it asks for; `condition` says what.",
    HTTPStatus.UNAUTHORIZED: "Log in: the credentials are missing, wrong or expired.",
    HTTPStatus.FORBIDDEN: "The user may not do this, or the server does not answer to this name.",
    HTTPStatus.NOT_FOUND: "There is no such session, statement, query, chunk or file, or it is another user's.",
    HTTPStatus.CONFLICT: "The statement has no result yet, the file or folder is in the way, or the query was changed.",
    HTTPStatus.LENGTH_REQUIRED: "The length of the body is not stated.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not of the type that the path takes.",
    HTTPStatus.TOO_MANY_REQUESTS: "A limit of the server is reached; try again later.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "A bug of the server, whose log has the id in the message.",
    HTTPStatus.SERVICE_UNAVAILABLE: "The server or Spark starts or stops, or does not answer; try again later.",
}
_ANYWHERE = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.LENGTH_REQUIRED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_SQL, _CATALOG, _TOKEN = "/api/2.0/sql", "/api/2.0/catalog", "/api/2.0/token"
_FS = "/api/2.0/fs"
_UNITY, _MCP = "/api/2.1/unity-catalog", "/api/2.0/mcp"
_SESSION = f"{_SQL}/sessions/{{session_id}}"
_STATEMENT = f"{_SQL}/statements/{{statement_id}}"
_QUERIES = f"{_SQL}/queries"
_QUERY = f"{_QUERIES}/{{query_id}}"
_ARROW = "application/vnd.apache.arrow.stream"
_HTML = "text/html"
_BYTES = "application/octet-stream"
_NO_CONTENT = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A path's method. `query` has its parameters by name, optional ones without `required`; `body` and `answers` are a
    schema's name or a media type; no `answers`: 204, without content.
    """

    method: str
    path: str
    summary: str
    answers: str
    body: str | None = None
    query: Mapping[str, Schema] | None = None
    required: tuple[str, ...] = ()
    # True if it needs no login.
    is_open: bool = False
    # Additional media types for the response, selected by Accept.
    others: tuple[str, ...] = ()
    # Errors in addition to the implied ones.
    errors: tuple[HTTPStatus, ...] = ()

    @property
    def is_page(self) -> bool:
        """Returns True for HTML pages and for files of the console."""
        return self.answers == _HTML or "/console" in self.path

    @property
    def statuses(self) -> tuple[HTTPStatus, ...]:
        """Returns its error statuses, in order."""
        found = {*_ANYWHERE, *self.errors}
        found |= set() if self.is_open else {HTTPStatus.UNAUTHORIZED}
        found |= {HTTPStatus.NOT_FOUND} if "{" in self.path else set()
        found |= {HTTPStatus.CONFLICT} if "/result" in self.path else set()
        found |= {HTTPStatus.UNSUPPORTED_MEDIA_TYPE} if self.body in SCHEMAS else set()
        return tuple(sorted(found))


def _get(path: str, answers: str, summary: str, **given: Any) -> Described:
    return Described(method="get", path=path, answers=answers, summary=summary, **given)


def _post(path: str, body: str | None, answers: str, summary: str, **given: Any) -> Described:
    return Described(method="post", path=path, body=body, answers=answers, summary=summary, **given)


def _change(method: str, path: str, summary: str, **given: Any) -> Described:
    return Described(
        method=method, path=path, answers=_NO_CONTENT, summary=summary, errors=(HTTPStatus.CONFLICT,), **given
    )


def _browse(part: str, answers: str, summary: str, names: str, **query: Schema) -> Described:
    """Describes a catalog browser route; `names` are required parameters."""
    required = tuple(names.split())
    parameters = {name: {"type": "string", "minLength": 1} for name in required} | query
    return _get(f"{_CATALOG}/{part}", answers, summary, query=parameters, required=required)


def _unity(part: str, answers: str, summary: str, names: str, **query: Schema) -> tuple[Described, Described]:
    """Describes a list of Unity Catalog's API, and an object in it."""
    required = tuple(names.split())
    parameters = {name: {"type": "string", "minLength": 1} for name in required} | query
    pages: dict[str, Schema] = {"max_results": COUNT | {"maximum": 2**31 - 1}, "page_token": STRING}
    one = _get(f"{_UNITY}/{part}/{{full_name}}", "UnityObject", f"One of the {part}, by its full name.")
    return _get(f"{_UNITY}/{part}", answers, summary, query=parameters | pages, required=required), one


_VERSION: Schema = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
_LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 100_000}
_OFFSET: Schema = {"type": "integer", "minimum": 0, "maximum": 2**62}
_ORDER: Schema = {"type": "string", "pattern": r"^[0-9]{1,6}\.(asc|desc)$"}
_CONDITIONS: Schema = {"type": "string", "description": "A JSON list of conditions, which all hold."}
_COLUMN: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999}
_COLUMNS: Schema = {"type": "string", "pattern": "^[0-9]{1,6}(,[0-9]{1,6})*$"}
_FORM: Schema = {"type": "string", "enum": ["text", "number"]}
_FILE: Schema = {"type": "string", "enum": ["csv", "parquet", "arrow"]}
_STATUS: Schema = {"type": "string", "enum": ["QUEUED", "RUNNING", "FINISHED", "FAILED", "CANCELED"]}
_DISCONNECT: Schema = {"type": "string", "enum": ["CANCEL", "CONTINUE"]}
_PAGE_SIZE: Schema = {"type": "integer", "minimum": 1, "maximum": 1000}
_FOLDER_PATH: Schema = {"type": "string", "pattern": "^(/[^/]{1,100}){0,20}/?$"}
_SIGNED: dict[str, Schema] = {"expires": STRING, "signature": STRING}
_WINDOW: dict[str, Schema] = {
    "offset": _OFFSET,
    "limit": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "order": _ORDER,
    "filter": _CONDITIONS,
    "columns": _COLUMNS,
    "form": _FORM,
    "cut": {"type": "integer", "minimum": 1, "maximum": 2**62, "description": "Characters of a cell."},
}
_FILTER: dict[str, Schema] = {
    "max_results": _PAGE_SIZE,
    "page_token": STRING,
    "text": STRING,
    "status": _STATUS,
    "filter_by.statuses": _STATUS,
    "user": STRING,
}

# A server without an identity provider.
_NO_PROVIDER = (HTTPStatus.NOT_FOUND,)
OPERATIONS: tuple[Described, ...] = (
    _post(f"{_SQL}/statements", "StatementRequest", "Statement", "Run a statement; wait up to wait_timeout.",
          errors=(HTTPStatus.NOT_FOUND,)),
    _get(_STATEMENT, "Statement", "A statement's state, and its result once it has succeeded.",
         query={"wait_timeout": WAIT, "on_disconnect": _DISCONNECT}),
    Described(method="delete", path=_STATEMENT, answers="Empty", summary="End a statement and give up its result."),
    _post(f"{_STATEMENT}/cancel", None, "Empty", "Cancel a statement."),
    _get(f"{_STATEMENT}/result/chunks/{{index}}", "ResultChunk", "A chunk of a result, in any order and again.",
         others=(_ARROW, "text/csv")),
    _get(f"{_STATEMENT}/result/rows", _ARROW, "Rows of a result by position, sorted if asked for.", query=_WINDOW),
    _get(f"{_STATEMENT}/result/count", "ResultCount", "The number of rows that satisfy conditions.",
         query={"filter": _CONDITIONS}),
    _get(f"{_STATEMENT}/result/statistics", "ResultStatistics", "Statistics of a column of a result.",
         query={"column": _COLUMN, "filter": _CONDITIONS}),
    _get(f"{_STATEMENT}/result/file", "application/octet-stream", "The whole result as a file.",
         query={"format": _FILE}),
    _get(f"{_STATEMENT}/profile", "Profile", "How far a statement is, and what it has read."),
    _get(f"{_STATEMENT}/plan", "Plans", "The plans that Spark executed for a statement that has ended."),
    _get(f"{_SQL}/results/{{statement_id}}/{{index}}", "application/octet-stream",
         "The target of an external link, which carries the right to it.", query=_SIGNED, is_open=True),
    _get(f"{_SQL}/sessions", "Sessions", "The sessions that the user may end: its own, all for administrators."),
    _post(f"{_SQL}/sessions", "SessionRequest", "OpenedSession", "Open a session."),
    _get(f"{_SQL}/warehouses", "Warehouses", "The server, as the one warehouse that there is."),
    _get(f"{_SQL}/warehouses/{{warehouse_id}}", "Warehouse", "The server as a warehouse of any id."),
    _post(f"{_SQL}/warehouses/{{warehouse_id}}/start", None, "Empty", "Start the warehouse, which is running."),
    _post(f"{_SQL}/warehouses/{{warehouse_id}}/sessions", "SessionRequest", "OpenedSession", "The same."),
    Described(method="delete", path=_SESSION, answers="Empty",
              summary="End a session with what it runs."),
    _get(_SESSION, "Session", "A session of the user with its current catalog and schema."),
    Described(method="patch", path=_SESSION, body="SessionPlace", answers="Session",
              summary="Set the current catalog and schema, as USE does."),
    _post(f"{_SQL}/sessions/{{session_id}}/end", None, "Empty", "End a session of any interface."),
    _get(f"{_SQL}/history/queries", "Queries", "Statements that run or have run, newest first.", query=_FILTER),
    _post(f"{_SQL}/history/queries/{{statement_id}}/cancel", None, "Empty", "Cancel a statement of any interface."),
    _post(f"{_SQL}/parse", "EditorText", "ParsedText", "Where the statements and parameters of a text are."),
    _post(f"{_SQL}/format", "EditorText", "FormattedText", "Format statements: blanks and the case of keywords."),
    _post(_QUERIES, "NewSavedQuery", "SavedQuery", "Save a query."),
    _get(_QUERIES, "SavedQueries", "The user's saved queries and those shared with it, without texts.",
         query={"page_size": _PAGE_SIZE, "page_token": _OFFSET, "text": STRING, "parent_path": _FOLDER_PATH,
                "owner": STRING}),
    _get(_QUERY, "SavedQuery", "A saved query."),
    Described(method="patch", path=_QUERY, body="SavedQueryChange", answers="SavedQuery",
              summary="Change, rename or move a saved query.", errors=(HTTPStatus.CONFLICT,)),
    Described(method="delete", path=_QUERY, answers="Empty", summary="Delete a saved query."),
    _get(f"{_QUERY}/permissions", "QueryShares", "Who may view or edit a saved query, for its owner."),
    Described(method="put", path=f"{_QUERY}/permissions", body="NewQueryShares", answers="QueryShares",
              summary="Replace these rights."),
    _get(f"{_QUERIES}/folders", "QueryFolders", "The folders of these queries."),
    _post(f"{_QUERIES}/folders/move", "FolderMove", "MovedQueries", "Move a folder of the user with its queries."),
    _post(f"{_QUERIES}/folders/delete", "FolderName", "DeletedQueries", "Delete the user's queries in a folder."),
    _get("/api/2.0/preview/scim/v2/Me", "Me", "Who the request is from."),
    _get(f"{_CATALOG}/catalogs", "Catalogs", "The catalogs."),
    _browse("schemas", "Schemas", "The schemas of a catalog.", "catalog"),
    _browse("tables", "Tables", "The tables and views of a schema.", "catalog schema"),
    _browse("columns", "Columns", "The columns of a schema's tables, or of one.", "catalog schema", table=STRING),
    _browse("table", "Table", "A table or view.", "catalog schema table", version=_VERSION),
    _browse("detail", "TableDetail", "Size and features of a table.", "catalog schema table"),
    _browse("versions", "Versions", "The versions of a table, newest first.", "catalog schema table", limit=_LIMIT),
    _browse("files", "Files", "The largest data files of a table.", "catalog schema table",
            version=_VERSION, limit=_LIMIT),
    _browse("column_statistics", "ColumnStatistics", "Statistics of a table's columns that its log has.",
            "catalog schema table", version=_VERSION),
    _browse("lineage", "Lineage", "The neighbors of a relation: by the texts of views, and by statements that wrote "
            "tables.", "catalog schema table"),
    _get(f"{_CATALOG}/functions", "Functions", "Functions and keywords, for completion.", query={"catalog": STRING}),
    *_unity("catalogs", "UnityCatalogs", "The catalogs, as Unity Catalog lists them.", ""),
    *_unity("schemas", "UnitySchemas", "The schemas of a catalog.", "catalog_name"),
    *_unity("tables", "UnityTables", "The tables and views of a schema, with columns and properties.",
            "catalog_name schema_name", omit_columns=STRING, omit_properties=STRING),
    _get(f"{_UNITY}/tables/{{full_name}}/exists", "UnityTableExists", "Whether there is a table or view."),
    *_unity("functions", "UnityFunctions", "The functions of a schema.", "catalog_name schema_name"),
    *_unity("volumes", "UnityVolumes", "The volumes of a schema.", "catalog_name schema_name"),
    _post(f"{_MCP}/sql", "McpMessage", "McpAnswer", "A message of MCP to the tools for SQL."),
    _post(f"{_MCP}/functions/{{catalog}}/{{schema}}", "McpMessage", "McpAnswer",
          "A message of MCP to the functions of a schema as tools."),
    _post(f"{_MCP}/functions/{{catalog}}/{{schema}}/{{function}}", "McpMessage", "McpAnswer",
          "A message of MCP to one function as a tool."),
    _post(f"{_TOKEN}/create", "NewToken", "CreatedToken", "Make a personal access token, which is shown once."),
    _get(f"{_TOKEN}/list", "Tokens", "The user's tokens."),
    _post(f"{_TOKEN}/delete", "TokenId", "Empty", "Revoke a token."),
    _get(f"{_FS}/files/{{path}}", _BYTES, "A file of a volume, or a range of its bytes."),
    _change("put", f"{_FS}/files/{{path}}", "Upload a file into a volume.", body=_BYTES,
            query={"overwrite": {"type": "string", "enum": ["true", "false"]}}),
    _post(f"{_FS}/files/{{path}}", None, "PartsUpload", "Begin an upload in parts, which continues by one PUT.",
          query={"action": {"type": "string", "enum": ["initiate-upload"]},
                 "overwrite": {"type": "string", "enum": ["true", "false"]}}, errors=(HTTPStatus.CONFLICT,)),
    _change("delete", f"{_FS}/files/{{path}}", "Remove a file of a volume."),
    _get(f"{_FS}/directories/{{path}}", "Folder", "What a folder of a volume holds.",
         query={"page_size": _LIMIT, "page_token": STRING}),
    _change("put", f"{_FS}/directories/{{path}}", "Create a folder in a volume."),
    _change("delete", f"{_FS}/directories/{{path}}", "Remove an empty folder of a volume."),
    _get(f"{_FS}/staged/{{key}}", _BYTES, "The target of a link that GET answers.", query=_SIGNED, is_open=True),
    _change("put", f"{_FS}/staged/{{key}}", "The target of a link that PUT answers.", body=_BYTES,
            query=_SIGNED, is_open=True),
    _change("delete", f"{_FS}/staged/{{key}}", "The target of a link that REMOVE answers.", query=_SIGNED,
            is_open=True),
    _get("/healthz", "Status", "Whether the process lives.", is_open=True),
    _get("/readyz", "Status", "Whether the server takes statements; 503 where not.", is_open=True),
    _get("/metrics", "text/plain", "Counts for Prometheus."),
    _get("/", _HTML, "The console.", is_open=True),
    _get("/connect", _HTML, "How to connect other programs.", is_open=True),
    _get("/console/{name}", "text/javascript", "A part of the console.", is_open=True, others=("text/css",)),
    _get("/login", _HTML, "The log-in of browsers.", is_open=True),
    _post("/login", None, _HTML, "Log in; the answer has a cookie.", is_open=True,
          errors=(HTTPStatus.UNAUTHORIZED, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)),
    _get("/login/provider", _HTML, "Redirect to the identity provider.",
          is_open=True, errors=_NO_PROVIDER),
    _get("/login/callback", _HTML, "Log in by the parameters that the identity provider sends.",
          is_open=True, errors=_NO_PROVIDER),
    _post("/logout", None, _HTML, "Log out.", is_open=True),
    _get("/.well-known/databricks-config", "Table", "The identity provider, for Databricks' SDKs.", is_open=True),
    _get("/oidc/.well-known/oauth-authorization-server", "Table", "The identity provider's addresses.",
          is_open=True, errors=_NO_PROVIDER),
    _get("/.well-known/oauth-protected-resource", "Table", "The identity provider, for OAuth clients.",
          is_open=True, errors=_NO_PROVIDER),
    _get("/.well-known/oauth-protected-resource/{path}", "Table", "The same for the URL of one path.", is_open=True),
    _get(PATH, "Table", "This document.", is_open=True),
)  # fmt: skip


def openapi_blueprint() -> Blueprint:
    """Returns the route `GET /api/openapi.json`, which requires no login."""
    routes = Blueprint("openapi", __name__)
    document = openapi_document()

    @routes.get(PATH)
    def show() -> dict[str, object]:
        return document

    return routes


def openapi_document() -> dict[str, object]:
    """Returns the whole document."""
    paths: dict[str, dict[str, object]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = _operation(each)
    schemes = {"basic": {"type": "http", "scheme": "basic"}, "bearer": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "delta-gateway", "version": VERSION, "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": schemes},
        "security": [{"basic": []}, {"bearer": []}, {}],
    }


def _operation(each: Described) -> dict[str, object]:
    done = "200" if each.answers else "204"
    responses = {done: _response(each)} | ({"303": {"description": "To another page."}} if each.is_page else {})
    for status in each.statuses:
        responses[str(status.value)] = _error(each, status)
    operation: dict[str, object] = {"summary": each.summary, "responses": responses}
    parameters = [*_path_parameters(each.path), *_query_parameters(each)]
    if parameters:
        operation["parameters"] = parameters
    if each.body:
        operation["requestBody"] = {"required": True, "content": _content(each.body)}
    if each.is_open:
        operation["security"] = []
    return operation


def _response(each: Described) -> dict[str, object]:
    content: dict[str, object] = {}
    if each.answers == _NO_CONTENT:
        return {"description": "Done."}
    for kind in (each.answers, *each.others):
        content |= _content(kind)
    return {"description": "Done.", "content": content}


def _content(kind: str) -> dict[str, object]:
    """Returns a JSON schema, or a media type's bytes."""
    if kind in SCHEMAS:
        return {"application/json": {"schema": ref(kind)}}
    return {kind: {"schema": {"type": "string", "format": "binary"}}}


def _error(each: Described, status: HTTPStatus) -> dict[str, object]:
    """Describes an error response; pages return some errors as a page."""
    content: dict[str, object] = {"application/json": {"schema": ref("Error")}}
    if each.path == "/readyz" and status is HTTPStatus.SERVICE_UNAVAILABLE:
        content = {"application/json": {"schema": ref("Status")}}
    if each.is_page:
        content[_HTML] = {"schema": {"type": "string"}}
    return {"description": _ERRORS[status], "content": content}


def _path_parameters(path: str) -> list[dict[str, object]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    kinds: dict[str, Schema] = {"index": {"type": "integer", "minimum": 0, "maximum": POSITIVE["maximum"]}}
    return [{"name": name, "in": "path", "required": True, "schema": kinds.get(name, STRING)} for name in names]


def _query_parameters(each: Described) -> list[dict[str, object]]:
    return [
        {"name": name, "in": "query", "required": name in each.required, "schema": schema}
        for name, schema in (each.query or {}).items()
    ]
