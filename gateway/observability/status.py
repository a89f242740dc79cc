"""What a client is told when something fails: the one translation of exceptions, for every front end.

`describe` turns any exception into a :class:`Failure`, which is neutral: a condition, an SQLSTATE and a message. The
front ends only spell it: Thrift as a TStatus, HTTP as a status line and an error body, whose two values follow from
the condition by :data:`_HTTP`. An exception that is no :class:`~catalog.errors.SqlError` is a bug of ours: the client
gets an id, the log gets the trace under that id.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from http import HTTPStatus

from catalog.conditions import InternalError
from catalog.errors import Position, SqlError, shortened

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`message` is the whole text for people, with the condition in front and the SQLSTATE at its end.

    `message` begins with the sentence that the error's own fields repeat: the excerpt of the text with a caret, the
    line and column (from 1), and the hint. `name` is the object that a "not found" condition is about.
    """

    condition: str
    sqlstate: str
    message: str
    name: str | None = None
    hint: str = ""
    position: Position | None = None

    @property
    def details(self) -> dict[str, object]:
        """Fields of JSON beyond Databricks' own: the condition, the hint and the position, if there are any."""
        details: dict[str, object] = {"condition": self.condition}
        if self.hint:
            details["hint"] = self.hint
        if self.position is not None:
            details |= {"line": self.position.line, "column": self.position.column}
            details |= {"excerpt": self.position.excerpt} if self.position.excerpt else {}
            details |= {"view": self.position.view} if self.position.view else {}
        return details

    @property
    def is_stale_handle(self) -> bool:
        """Whether the client used the handle of a session or statement that is gone."""
        return self.condition.startswith(_HANDLE)

    @property
    def http_status(self) -> HTTPStatus:
        return self._http()[0]

    @property
    def http_error_code(self) -> str:
        """The `error_code` of Databricks' REST interfaces."""
        return self._http()[1]

    def _http(self) -> tuple[HTTPStatus, str]:
        for prefix, answer in _HTTP:
            if self.condition.startswith(prefix) or self.sqlstate.startswith(prefix):
                return answer
        return HTTPStatus.BAD_REQUEST, "BAD_REQUEST"


_HANDLE = "INVALID_HANDLE."
"""With the dot: INVALID_HANDLER_DECLARATION is about a script."""

# The first row whose prefix starts the condition or the SQLSTATE; a bad request where none does, since most conditions
# are about the client's statement.
_HTTP: tuple[tuple[str, tuple[HTTPStatus, str]], ...] = (
    (_HANDLE, (HTTPStatus.NOT_FOUND, "RESOURCE_DOES_NOT_EXIST")),
    ("57P", (HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE")),  # the server or Spark starts, or shuts down
    ("SPARK_UNAVAILABLE", (HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE")),
    ("UNSUPPORTED_MEDIA_TYPE", (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE")),
    ("METHOD_NOT_ALLOWED", (HTTPStatus.METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED")),
    ("LENGTH_REQUIRED", (HTTPStatus.LENGTH_REQUIRED, "LENGTH_REQUIRED")),
    ("MALFORMED_REQUEST", (HTTPStatus.BAD_REQUEST, "MALFORMED_REQUEST")),
    ("INVALID_PARAMETER_VALUE.HTTP_FIELD", (HTTPStatus.BAD_REQUEST, "INVALID_PARAMETER_VALUE")),
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
    """The failure a client is told of; an exception that is not ours goes to the log with its trace."""
    if not isinstance(error, SqlError):
        error_id = uuid.uuid4().hex[:12]
        logger.error("internal error %s: %s", error_id, type(error).__name__, exc_info=error)
        error = InternalError(error_id)
    name = getattr(error, "name", None)
    return Failure(
        condition=error.condition,
        sqlstate=error.sqlstate,
        message=str(error),
        name=shortened(name) if isinstance(name, str) else None,
        hint=error.hint,
        position=error.position,
    )
