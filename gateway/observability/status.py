"""Translation of exceptions to client errors, shared by all front ends.

`describe` converts any exception into a :class:`Failure`, which is independent of protocols: a condition, an SQLSTATE
and a message. Front ends only format it: Thrift as a TStatus, HTTP as a status line and an error body, by
:data:`_HTTP`. An exception that is not a :class:`~catalog.errors.SqlError` is a bug: the client gets an id, and the log
the traceback with that id.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from http import HTTPStatus

from catalog.conditions import InternalError
from catalog.errors import Position, SqlError, shorten

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A client error; `message` is the whole text for people, beginning with the condition and ending with the
    SQLSTATE.

    `position` is the place in the statement's text, in a view's text, or in the text that EXECUTE IMMEDIATE runs, and
    `hint` the user's options. `name` is the missing object for a "not found" condition, if the error has one.
    """

    condition: str
    sqlstate: str
    message: str
    name: str | None = None
    hint: str = ""
    position: Position | None = None

    @property
    def details(self) -> dict[str, object]:
        """Returns the JSON fields in addition to Databricks': the condition, and the hint and position if known."""
        details: dict[str, object] = {"condition": self.condition}
        if self.hint:
            details["hint"] = self.hint
        if self.position is not None:
            details |= {"line": self.position.line, "column": self.position.column}
            details |= {"excerpt": self.position.excerpt} if self.position.excerpt else {}
            details |= {"view": self.position.view} if self.position.view else {}
            details |= {"inside": self.position.inside} if self.position.inside else {}
        return details

    @property
    def is_stale_handle(self) -> bool:
        """Returns True if the client used a closed session's or statement's handle."""
        return self.condition.startswith(_HANDLE)

    @property
    def http_status(self) -> HTTPStatus:
        """Returns the HTTP status for the condition."""
        return self._http()[0]

    @property
    def http_error_code(self) -> str:
        """Returns the `error_code` in Databricks' REST interfaces."""
        return self._http()[1]

    def _http(self) -> tuple[HTTPStatus, str]:
        for prefix, answer in _HTTP:
            if self.condition.startswith(prefix) or self.sqlstate.startswith(prefix):
                return answer
        return HTTPStatus.BAD_REQUEST, "BAD_REQUEST"


# With the dot: INVALID_HANDLER_DECLARATION is about a script.
_HANDLE = "INVALID_HANDLE."

# The first row whose prefix matches the condition or the SQLSTATE applies; otherwise it is a bad request, since most
# conditions are about the client's statement.
_HTTP: tuple[tuple[str, tuple[HTTPStatus, str]], ...] = (
    (_HANDLE, (HTTPStatus.NOT_FOUND, "RESOURCE_DOES_NOT_EXIST")),
    ("SESSION_NOT_HERE", (HTTPStatus.MISDIRECTED_REQUEST, "MISDIRECTED_REQUEST")),
    ("GATEWAY_CONNECTION_LOST", (HTTPStatus.BAD_GATEWAY, "GATEWAY_CONNECTION_LOST")),
    # the server or Spark is starting or shutting down
    ("57P", (HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE")),
    ("SPARK_UNAVAILABLE", (HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE")),
    ("UNSUPPORTED_MEDIA_TYPE", (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE")),
    ("METHOD_NOT_ALLOWED", (HTTPStatus.METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED")),
    ("LENGTH_REQUIRED", (HTTPStatus.LENGTH_REQUIRED, "LENGTH_REQUIRED")),
    ("MALFORMED_REQUEST", (HTTPStatus.BAD_REQUEST, "MALFORMED_REQUEST")),
    ("INVALID_PARAMETER_VALUE.HTTP_FIELD", (HTTPStatus.BAD_REQUEST, "INVALID_PARAMETER_VALUE")),
    ("SAVED_QUERY_NOT_FOUND", (HTTPStatus.NOT_FOUND, "RESOURCE_DOES_NOT_EXIST")),
    ("SAVED_QUERY_UNREADABLE", (HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR")),
    ("SAVED_QUERY_CHANGED", (HTTPStatus.CONFLICT, "RESOURCE_CONFLICT")),
    ("RESULT_NOT_READY", (HTTPStatus.CONFLICT, "INVALID_STATE")),
    ("VOLUME_FILE_NOT_FOUND", (HTTPStatus.NOT_FOUND, "NOT_FOUND")),
    ("VOLUME_PATH_NOT_FOUND", (HTTPStatus.NOT_FOUND, "NOT_FOUND")),
    ("FILE_IN_STAGING_PATH", (HTTPStatus.CONFLICT, "ALREADY_EXISTS")),
    ("DIRECTORY_NOT_EMPTY", (HTTPStatus.CONFLICT, "DIRECTORY_NOT_EMPTY")),
    ("28", (HTTPStatus.UNAUTHORIZED, "UNAUTHENTICATED")),
    ("42501", (HTTPStatus.FORBIDDEN, "PERMISSION_DENIED")),
    ("53", (HTTPStatus.TOO_MANY_REQUESTS, "REQUEST_LIMIT_EXCEEDED")),
    ("INTERNAL_ERROR", (HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR")),
    ("XX", (HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR")),
)


def describe(error: BaseException) -> Failure:
    """Returns the failure for a client; an unexpected exception is logged with its traceback."""
    if not isinstance(error, SqlError):
        error_id = uuid.uuid4().hex[:12]
        logger.error("internal error %s: %s", error_id, type(error).__name__, exc_info=error)
        error = InternalError(error_id)
    name = getattr(error, "name", None)
    return Failure(
        condition=error.condition,
        sqlstate=error.sqlstate,
        message=str(error),
        name=shorten(name) if isinstance(name, str) else None,
        hint=error.hint,
        position=error.position,
    )
