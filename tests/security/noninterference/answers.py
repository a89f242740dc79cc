"""A client's responses, byte for byte except for statement-specific parts: ids, times, the lake's folder."""

from __future__ import annotations

import json
import re
from typing import Any

from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.hs2.wire import fetch, open_session
from tests.security.noninterference.statements import MetadataCall, Statement
from tests.security.noninterference.twin_lakes import HIDDEN_VALUES
from tests.security.secure_server import STATEMENTS, SecureServer, basic

PAGE_ROWS = 1000
LOG = 1
_MADE_ANEW = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\b20(2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+\d\d:?\d\d)?", "<now>"),
    (r"#\d+L?\b", "#n"),
    (r"plan_id=\d+", "plan_id=n"),
    (r"\b\d+(\.\d+)? m?s\b", "<duration>"),
    (r"__\w+_\d+", "<view>"),
    (r"startTime=\d+", "startTime=n"),
    (r"((?:TimeMs|Bytes\w*)[\\\\\"]+: ?[\\\\\"]*)\d+", r"\1n"),
    (r"\d+ of \d+ bytes", "n bytes"),
    # Task progress depends on the moment of the request.
    (r"'Spark: \d+ of \d+ tasks done, \d+ running', ", ""),
    (r"\['Spark', 'tasks', '\w+'(, '\d+')+\]", "<tasks>"),
    (r"TASKS: \d+/\d+", "<tasks>"),
    (r"progressedPercentage=[\d.]+", "progressedPercentage=n"),
)
_SIZE = re.compile(r"byte_count\": \d+")
_ROW_FAILS = re.compile(r"SQLSTATE: (22\w{3}|P0001)")


class Wires:
    """bob's sessions in one server, over Thrift and over HTTP."""

    def __init__(self, server: SecureServer, client: ThriftClient, folder: str) -> None:
        self._server, self._client, self._folder = server, client, folder
        self._session = open_session(client)
        answer = server.ask("POST", "/api/2.0/sql/sessions", {"warehouse_id": "w"}, **basic("bob")).body
        self._http_session = answer["session_id"]

    def thrift(self, statement: Statement | MetadataCall) -> str:
        """Returns the states, the schema, the rows, the operation's messages and its last state."""
        if isinstance(statement, Statement):
            request = t.TExecuteStatementReq(self._session, statement.text, runAsync=False)
            response = self._client.ExecuteStatement(request)
        else:
            request = getattr(t, f"T{statement.name}Req")(self._session, **statement.fields)
            response = getattr(self._client, statement.name)(request)
        seen: list[Any] = [response.status]
        if handle := response.operationHandle:
            seen.append(handle.hasResultSet)
            seen.append(self._client.GetResultSetMetadata(t.TGetResultSetMetadataReq(handle)))
            while handle.hasResultSet:
                page = fetch(self._client, handle, PAGE_ROWS)
                seen.append(page)
                if not page.hasMoreRows:
                    break
            seen.append(fetch(self._client, handle, PAGE_ROWS, kind=LOG))
            seen.append(self._client.GetOperationStatus(t.TGetOperationStatusReq(handle, getProgressUpdate=True)))
            seen.append(self._client.CloseOperation(t.TCloseOperationReq(handle)))
        for each in seen:
            if isinstance(each, t.TGetOperationStatusResp):
                each.operationStarted = each.operationCompleted = None
        return self._plain("\n".join(map(repr, seen)))

    def http(self, statement: Statement) -> str:
        body = {
            "statement": statement.text,
            "session_id": self._http_session,
            "warehouse_id": "w",
            "wait_timeout": "50s",
        }
        answer = self._server.ask("POST", STATEMENTS, body, **basic("bob"))
        assert answer.body.get("status", {}).get("state") != "RUNNING"
        return self._plain(f"{answer.status} {json.dumps(answer.body, indent=1)}")

    def _plain(self, text: str) -> str:
        text = text.replace(self._folder, "<folder>")
        for pattern, name in _MADE_ANEW:
            text = re.sub(pattern, name, text)
        if "TimeMs" in text:
            text = _SIZE.sub('byte_count": n', text)
        shown = [value for value in HIDDEN_VALUES if value in text]
        assert not shown, f"{shown} in {text}"
        # If several visible rows fail, Spark reports its first one, which depends on the files.
        return "a row fails" if _ROW_FAILS.search(text) else text
