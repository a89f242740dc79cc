"""Conditions of the HTTP interface itself: what is wrong with a request rather than with its statement."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class InvalidField(SqlError, condition="INVALID_PARAMETER_VALUE.HTTP_FIELD", sqlstate="22023"):
    name: str
    problem: str
    template = "The field {name} of the request {problem}."


@dataclass(eq=False)
class MalformedBody(SqlError, condition="MALFORMED_REQUEST", sqlstate="22030"):
    reason: str
    template = "The body of the request is not a JSON object: {reason}."


@dataclass(eq=False)
class UnsupportedMediaType(SqlError, condition="UNSUPPORTED_MEDIA_TYPE", sqlstate="0A000"):
    found: str
    template = "The body of the request is {found}; send JSON with the header Content-Type: application/json."


@dataclass(eq=False)
class NotThrift(SqlError, condition="UNSUPPORTED_MEDIA_TYPE.THRIFT", sqlstate="0A000"):
    found: str
    template = "The body of the request is {found}; this path takes application/x-thrift only."


@dataclass(eq=False)
class MethodNotAllowed(SqlError, condition="METHOD_NOT_ALLOWED", sqlstate="0A000"):
    method: str
    template = "This path takes calls of HiveServer2 by POST, and not by {method}."


@dataclass(eq=False)
class LengthMissing(SqlError, condition="LENGTH_REQUIRED", sqlstate="08P01"):
    template = "The request must state the length of its body (Content-Length)."


@dataclass(eq=False)
class CookieRefused(SqlError, condition="AUTHENTICATION_FAILED.COOKIE", sqlstate="28000"):
    template = "The cookie of the request is not one of this server, or has expired. Send the credentials again."


@dataclass(eq=False)
class ForeignPage(SqlError, condition="HTTP_FOREIGN_PAGE", sqlstate="42501"):
    template = (
        "The request carries a cookie and does not come from a page of this server (Sec-Fetch-Site, Origin). "
        "Programs send credentials with each request instead of a cookie."
    )


@dataclass(eq=False)
class ChunkNotFound(SqlError, condition="INVALID_HANDLE.CHUNK_NOT_FOUND", sqlstate="HY000"):
    chunk: int
    total: int
    template = "The result has no chunk {chunk}; its {total} chunks are numbered from 0."


@dataclass(eq=False)
class ResultTooLargeToSort(SqlError, condition="RESULT_TOO_LARGE.SORTED", sqlstate="54000"):
    column: str
    bytes_max: int
    template = (
        "The result is too large to be sorted by {column} here, which takes more than {bytes_max} bytes of memory. "
        "Sort it in the statement: ORDER BY."
    )


@dataclass(eq=False)
class NotInParquet(SqlError, condition="UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE.DOWNLOAD", sqlstate="0A000"):
    reason: str
    template = "The result has a type that files of Parquet cannot have: {reason}. Download it as CSV or Arrow instead."


@dataclass(eq=False)
class LinkRefused(SqlError, condition="RESULT_LINK_REFUSED", sqlstate="42501"):
    reason: str
    template = "The link {reason}. Ask the statement for its chunk, or run PUT, GET or REMOVE, again to get a new one."


@dataclass(eq=False)
class HostRefused(SqlError, condition="HTTP_HOST_REFUSED", sqlstate="42501"):
    host: str
    template = (
        "The server does not answer to the name {host}. Address it as localhost, or add the name to server.http_hosts "
        "in its configuration."
    )


@dataclass(eq=False)
class TooManyWaiting(SqlError, condition="TOO_MANY_REQUESTS_WAITING", sqlstate="53300"):
    limit: int
    template = (
        "{limit} requests already wait for their statements. Send on_wait_timeout CONTINUE and ask for the status, "
        "or raise server.http_threads."
    )


@dataclass(eq=False)
class TooManyCalls(SqlError, condition="TOO_MANY_CALLS", sqlstate="53300"):
    limit: int
    template = "{limit} calls over HTTP are already being answered. Try again in a moment."


@dataclass(eq=False)
class ServerStarting(SqlError, condition="SERVER_STARTING", sqlstate="57P03"):
    template = "The server is starting and takes no statements yet. Try again in a few seconds."
