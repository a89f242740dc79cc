"""Streamable HTTP of MCP: a JSON-RPC message, or a batch of them, per POST, answered with JSON.

    POST /api/2.0/mcp/sql                                      statements and metadata (`sql_tools.py`)
    POST /api/2.0/mcp/functions/<catalog>/<schema>[/<function>]   SQL functions (`function_tools.py`)

There are no streams from the server (GET is rejected) and no sessions (DELETE is rejected): each request is complete,
and any gateway answers it. A call waits a bounded time, so that its answer needs no stream: a longer statement is
polled by its id.

In the mode `read_only`, and for tools that only read, a request acts as a read-only token of its user would: whether a
statement may run is decided where the pipeline authorizes it, by its kind, and never by its text.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, g, request

from catalog.errors import SqlError, shorten
from engine.runtime.identity import Identity
from gateway.configuration.config import McpMode, McpSection
from gateway.http.callers import json_content
from gateway.http.mcp.function_tools import FunctionTools
from gateway.http.mcp.messages import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    SERVER_KEY,
    Code,
    Message,
    MessageRefused,
    agreed_version,
    parse_body,
    parse_message,
)
from gateway.http.mcp.runner import Runner, failure_status, to_json
from gateway.http.mcp.running_calls import Call, RunningCalls
from gateway.http.mcp.sql_tools import SqlTools
from gateway.http.mcp.tools import BoundTool, ToolSet
from gateway.http.statements import Body, StatementApi
from gateway.observability.status import describe
from gateway.release import VERSION
from gateway.sessions.session import MCP_WIRE

API = "/api/2.0/mcp"
SESSION = "Mcp-Session-Id"
_SERVER = {"name": "delta-gateway", "title": "Delta Gateway", "version": VERSION}
_INSTRUCTIONS = (
    "SQL over Delta and Iceberg tables, in Spark's dialect. Names are catalog.schema.table; quote unusual names in "
    "backticks. Look at list_catalogs, list_schemas, list_tables and describe_table before you write a query. Results "
    "are bounded: aggregate, filter and use LIMIT. A statement that takes longer than wait_seconds continues; call "
    "poll_sql_result with its statement_id."
)
_ABOUT: Mapping[str, object] = {"capabilities": {"tools": {}}, "instructions": _INSTRUCTIONS}
# Tools depend on the user's rights, and may change at any time.
_CACHING: Mapping[str, object] = {"ttlMs": 0, "cacheScope": "private"}
_SESSION_MAX = 128


def mcp_blueprint(api: StatementApi, settings: McpSection) -> Blueprint:
    """Returns the routes below `/api/2.0/mcp`: tools for SQL, and for the functions of a schema or a single one."""
    routes = Blueprint("mcp", __name__)
    runner = Runner(api=api, rows_max=settings.rows_max, bytes_max=settings.bytes_max)
    server = _Server(api, may_write=settings.mode is McpMode.READ_WRITE)
    sql_tools = SqlTools(runner, may_write=server.may_write)

    @routes.before_request
    def authenticate() -> None:
        g.wire = MCP_WIRE
        g.identity = api.callers.identity()
        # The protocol requires the check for clients with credentials too.
        api.callers.ensure_own_page(must_be_said=False)

    @routes.post(f"{API}/sql")
    def sql() -> Response:
        return server.answer(sql_tools)

    @routes.post(f"{API}/functions/<catalog>/<schema>")
    def functions(catalog: str, schema: str) -> Response:
        return server.answer(FunctionTools(runner, catalog, schema, None, sql_tools.poll))

    @routes.post(f"{API}/functions/<catalog>/<schema>/<function>")
    def function(catalog: str, schema: str, function: str) -> Response:
        return server.answer(FunctionTools(runner, catalog, schema, function, sql_tools.poll))

    return routes


@dataclass(frozen=True, slots=True)
class _Server:
    """Answers messages. `may_write` is the mode."""

    api: StatementApi
    may_write: bool
    running: RunningCalls = field(default_factory=RunningCalls)

    def answer(self, tools: ToolSet) -> Response:
        try:
            body = parse_body(json_content(), request.headers)
            if isinstance(body, list):
                return self._answer_batch(body, tools)
            found = self._answer_one(body, tools)
        except MessageRefused as error:
            return _response(error.body(), error.status)
        if isinstance(found, Response):
            return found
        response = _response(found)
        if isinstance(body, dict) and body.get("method") == "initialize":
            response.headers[SESSION] = uuid.uuid4().hex
        return response

    def _answer_one(self, body: object, tools: ToolSet, *, in_batch: bool = False) -> Body | Response:
        """Returns the answer to a message, or the response of a notification. Raises `MessageRefused`."""
        message = parse_message(body, request.headers, in_batch=in_batch)
        if message is None or message.request_id is None:
            self._note(message)
            return Response(status=HTTPStatus.ACCEPTED)
        found = self._result(message, tools)
        return found if isinstance(found, Response) else {"jsonrpc": "2.0", "id": message.request_id, "result": found}

    def _answer_batch(self, bodies: Sequence[object], tools: ToolSet) -> Response:
        """Answers the requests of a batch in their order, as one list."""
        login, answers = self.api.identity(), list[Body]()
        for body in bodies:
            g.identity = login  # a call restricts the identity of the request
            try:
                found = self._answer_one(body, tools, in_batch=True)
            except MessageRefused as error:
                answers.append(error.body())
                continue
            if not isinstance(found, Response):
                answers.append(found)
            elif found.status_code != HTTPStatus.ACCEPTED:
                return found
        return _response(answers) if answers else Response(status=HTTPStatus.ACCEPTED)

    def _note(self, message: Message | None) -> None:
        """Takes a notification. The only one with an effect cancels a call of an older client."""
        if message is None or message.method != "notifications/cancelled" or message.is_modern:
            return
        key = self._key(message.params.get("requestId"), self.api.identity())
        if key is not None and (call := self.running.find(key)) is not None:
            call.cancel()

    def _key(self, request_id: object, identity: Identity) -> Hashable | None:
        """Returns the key of a call of an older client; None without the client's session id."""
        session = request.headers.get(SESSION)
        if not session or len(session) > _SESSION_MAX or not isinstance(request_id, str | int):
            return None
        return identity.owner, session, request_id

    def _result(self, message: Message, tools: ToolSet) -> Body | Response:
        method = message.method
        if method == "tools/call":
            return self._call(message, tools)
        if method == "tools/list":
            return self._list(message, tools)
        if method == "server/discover" and message.is_modern:
            versions = [*MODERN_VERSIONS, *reversed(LEGACY_VERSIONS)]
            return _complete({"supportedVersions": versions, **_ABOUT, **_CACHING})
        if method == "initialize" and not message.is_modern:
            version = agreed_version(message.params.get("protocolVersion"))
            return {"protocolVersion": version, "serverInfo": _SERVER, **_ABOUT}
        if method == "ping" and not message.is_modern:
            return {}
        raise message.refused(Code.METHOD_NOT_FOUND, "This server has no such method.")

    def _list(self, message: Message, tools: ToolSet) -> Body:
        cursor = message.params.get("cursor")
        if not isinstance(cursor, str | None):
            raise message.refused(Code.INVALID_PARAMS, "The cursor must be one that this server has returned.")
        self._act(may_write=False)
        try:
            found, following = tools.tools(cursor or "", Call())
        except SqlError as error:
            raise _refused(message, error) from None
        listed: Body = {"tools": [tool.listed() for tool in found]}
        if following is not None:
            listed["nextCursor"] = following
        return _complete({**listed, **_CACHING}) if message.is_modern else listed

    def _call(self, message: Message, tools: ToolSet) -> Body | Response:
        name, arguments = message.params.get("name"), message.params.get("arguments")
        if not isinstance(name, str):
            raise message.refused(Code.INVALID_PARAMS, "The name must be a tool's name.")
        if not isinstance(arguments, dict | None):
            raise message.refused(Code.INVALID_PARAMS, "The arguments must be an object.")
        login = self.api.identity()
        key = None if message.is_modern else self._key(message.request_id, login)
        with self.running.call(key) as call:
            self._act(may_write=False)
            try:
                bound = tools.find(name, call)
            except SqlError as error:
                raise _refused(message, error) from None
            if bound is None:
                raise message.refused(Code.INVALID_PARAMS, f"There is no tool {ascii(shorten(name))}.")
            g.identity = login
            found = self._run(bound, {} if arguments is None else arguments, call)
        if isinstance(found, Response):
            return found
        return _complete(found) if message.is_modern else found

    def _run(self, bound: BoundTool, arguments: object, call: Call) -> Body | Response:
        """Returns a tool's result. Errors are results too, so that a model can read them."""
        self._act(may_write=bound.tool.acts_as_user)
        try:
            found = bound.run(arguments, call)
        except SqlError as error:
            failure = describe(error)
            if failure.http_status is HTTPStatus.UNAUTHORIZED:
                raise
            found = {"status": {"state": "FAILED"} | failure_status(failure)}
        if isinstance(found, Response):
            return found
        status: Any = found.get("status")
        is_error = isinstance(status, dict) and "error" in status
        content = [{"type": "text", "text": to_json(found)}]
        return {"content": content, "structuredContent": found, "isError": is_error}

    def _act(self, *, may_write: bool) -> None:
        """Restricts the request's identity: in the mode `read_only`, and for tools that read, to read."""
        login = self.api.identity()
        g.identity = login if may_write and self.may_write else login.reading


def _complete(result: Body) -> Body:
    """Returns a result of the stateless versions."""
    return result | {"resultType": "complete", "_meta": {SERVER_KEY: _SERVER}}


def _refused(message: Message, error: SqlError) -> MessageRefused:
    """Returns the error for a list of tools that the user cannot have, such as the tools of an unknown schema."""
    failure = describe(error)
    if failure.http_status is HTTPStatus.UNAUTHORIZED:
        raise error
    return message.refused(Code.INVALID_PARAMS, failure.message)


def _response(body: Body | list[Body], status: HTTPStatus = HTTPStatus.OK) -> Response:
    try:
        content = to_json(body).encode()
    except UnicodeEncodeError:  # half of a surrogate pair from the client's message
        content = json.dumps(body).encode()
    return Response(content, status, content_type="application/json")
