"""JSON-RPC messages of MCP over Streamable HTTP, of two eras; pure.

A request of 2026-07-28 is complete in itself: `params._meta` names the version and the client's capabilities, and the
headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` repeat parts of the body, so that proxies can route it. A
header that differs from the body is an error. Clients of 2025-03-26 to 2025-11-25 begin with `initialize`, and send the
agreed version in the header, or, in the oldest version, nothing.

One message is in a body. Version 2025-03-26 also has batches: a list of messages, which later versions have removed.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from http import HTTPStatus
from typing import Protocol

from catalog.conditions import MalformedBody
from catalog.errors import shorten
from gateway.http.requests import parse_json

# Stateless versions, and versions with `initialize`, oldest first.
MODERN_VERSIONS = ("2026-07-28",)
LEGACY_VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
BATCH_VERSION = LEGACY_VERSIONS[0]
# A batch waits for its calls one after the other.
BATCH_MAX = 20
_META = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY, SERVER_KEY = (
    f"{_META}{name}" for name in ("protocolVersion", "clientCapabilities", "serverInfo")
)
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_ID_MAX = 256

RequestId = str | int


class Headers(Protocol):
    """The headers of a request, by name in any case."""

    def get(self, name: str, /) -> str | None:
        """Returns the header's value; None if it is missing."""
        ...


class Code(IntEnum):
    """Error codes of JSON-RPC and of MCP 2026-07-28."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    HEADER_MISMATCH = -32020
    UNSUPPORTED_VERSION = -32022


class MessageRefused(Exception):
    """A message that is answered with a JSON-RPC error."""

    def __init__(self, code: Code, text: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(text)
        self.code, self.text, self.data = code, text, data
        # The id of the refused request, and its era, as far as known.
        self.request_id: RequestId | None = None
        self.is_modern = False

    @property
    def status(self) -> HTTPStatus:
        """Returns the HTTP status: clients of the older versions expect 200 for an error about a request."""
        if self.code is Code.METHOD_NOT_FOUND:
            return HTTPStatus.NOT_FOUND if self.is_modern else HTTPStatus.OK
        if self.code is Code.INVALID_PARAMS and not self.is_modern:
            return HTTPStatus.OK
        return HTTPStatus.BAD_REQUEST

    def body(self) -> dict[str, object]:
        """Returns the JSON-RPC error response."""
        error: dict[str, object] = {"code": int(self.code), "message": self.text}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request, or a notification, which has no `request_id`."""

    method: str
    params: Mapping[str, object]
    request_id: RequestId | None
    is_modern: bool

    def refused(self, code: Code, text: str) -> MessageRefused:
        """Returns the error for this message, with its id and era."""
        error = MessageRefused(code, text)
        error.request_id, error.is_modern = self.request_id, self.is_modern
        return error


def parse_body(content: bytes, headers: Headers) -> object:
    """Returns the body: JSON of one message, or a list of those of a batch. Raises `MessageRefused`."""
    try:
        body = parse_json(content)
    except MalformedBody as error:
        raise MessageRefused(Code.PARSE_ERROR, error.full_message) from None
    if isinstance(body, list):
        if headers.get("MCP-Protocol-Version") not in (None, BATCH_VERSION):
            raise MessageRefused(Code.INVALID_REQUEST, f"Only version {BATCH_VERSION} has batches of messages.")
        if not 0 < len(body) <= BATCH_MAX:
            raise MessageRefused(Code.INVALID_REQUEST, f"A batch must have 1 to {BATCH_MAX} messages.")
    return body


def parse_message(body: object, headers: Headers, *, in_batch: bool = False) -> Message | None:
    """Returns the message; None for a response, which this server has not asked for. Raises `MessageRefused`."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise MessageRefused(Code.INVALID_REQUEST, "The body must be a JSON-RPC 2.0 message.")
    if "method" not in body and ("result" in body or "error" in body):
        return None
    request_id = _request_id(body)
    try:
        message = _message(body, request_id, headers)
        if in_batch and (message.is_modern or message.method == "initialize"):
            raise message.refused(Code.INVALID_REQUEST, f"{message.method} must not be part of a batch.")
        return message
    except MessageRefused as error:
        error.request_id = request_id
        raise


def _request_id(body: Mapping[str, object]) -> RequestId | None:
    if "id" not in body:
        return None
    found = body["id"]
    if isinstance(found, bool) or not isinstance(found, str | int) or len(str(found)[: _ID_MAX + 1]) > _ID_MAX:
        raise MessageRefused(
            Code.INVALID_REQUEST, f"The id must be a string or a whole number of {_ID_MAX} characters at most."
        )
    return found


def _message(body: Mapping[str, object], request_id: RequestId | None, headers: Headers) -> Message:
    method, params = body.get("method"), body.get("params")
    if not isinstance(method, str) or not isinstance(params, dict | None):
        raise MessageRefused(Code.INVALID_REQUEST, "The method must be a string, and the params an object.")
    params = params or {}
    version, meta = headers.get("MCP-Protocol-Version"), params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    is_modern = version in MODERN_VERSIONS or VERSION_KEY in meta
    message = Message(method=method, params=params, request_id=request_id, is_modern=is_modern)
    if version is not None and not is_modern and version not in LEGACY_VERSIONS and method != "initialize":
        raise _unsupported(version)
    if is_modern and request_id is not None:
        _ensure_complete(message, meta, headers)
    return message


def _ensure_complete(message: Message, meta: Mapping[str, object], headers: Headers) -> None:
    """Checks the required parts of a request of the stateless versions."""
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise _modern(Code.INVALID_PARAMS, f"params._meta must have {' and '.join(missing)}.")
    repeated = [("MCP-Protocol-Version", meta[VERSION_KEY]), ("Mcp-Method", message.method)]
    if message.method == "tools/call" and "name" in message.params:
        repeated.append(("Mcp-Name", message.params["name"]))
    for header, value in repeated:
        if _decoded(headers.get(header)) != value:
            raise _modern(Code.HEADER_MISMATCH, f"The header {header} must have the same value as the body.")
    if meta[VERSION_KEY] not in MODERN_VERSIONS:
        raise _unsupported(str(meta[VERSION_KEY]))


def _decoded(header: str | None) -> str | None:
    """Returns a header's value; one that is no ASCII text is in base64."""
    match = _ENCODED.fullmatch(header or "")
    if match is None:
        return header
    try:
        return b64decode(match[1], validate=True).decode()
    except ValueError:
        return None


def _unsupported(version: str) -> MessageRefused:
    data = {"supported": [*MODERN_VERSIONS, *reversed(LEGACY_VERSIONS)], "requested": shorten(version)}
    return _modern(Code.UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _modern(code: Code, text: str, data: Mapping[str, object] | None = None) -> MessageRefused:
    error = MessageRefused(code, text, data)
    error.is_modern = True
    return error


def agreed_version(requested: object) -> str:
    """Returns the version that `initialize` agrees on: the client's, or the newest one with `initialize`."""
    return requested if isinstance(requested, str) and requested in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]
