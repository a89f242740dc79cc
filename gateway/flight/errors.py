"""Errors as gRPC statuses. The message of a status is the whole text of the error: condition, message, SQLSTATE.

PyArrow adds a traceback to the status of any other exception than its own of Flight, so these are the only ones.
"""

from __future__ import annotations

import json

from pyarrow import flight

from gateway.observability.status import Failure, describe


def flight_error(error: BaseException) -> Exception:
    """Returns the exception that PyArrow converts to the status for `error`; its details are JSON."""
    failure = describe(error)
    details = json.dumps({"sqlstate": failure.sqlstate, **failure.details}).encode()
    found: Exception = _kind(failure)(failure.message, details)
    return found


class SchemaError(ValueError):
    """An error of GetSchema, whose errors PyArrow does not convert as those of other calls.

    It adds the traceback to the status, as `traceback.format_exception` formats it; where that fails, only the name of
    the class. So the exception cannot be formatted.
    """

    def __bool__(self) -> bool:
        raise TypeError("an exception has no truth value")


def schema_error(error: BaseException) -> Exception:
    """Returns the exception of GetSchema for `error`."""
    return SchemaError(describe(error).message)


def _kind(failure: Failure) -> type[Exception]:
    for prefix, kind in _KINDS:
        if failure.condition.startswith(prefix) or failure.sqlstate.startswith(prefix):
            return kind
    return flight.FlightServerError  # type: ignore[no-any-return]


# The first row whose prefix matches the condition or the SQLSTATE applies; otherwise it is the error of a server, since
# most conditions are about the client's statement.
_KINDS: tuple[tuple[str, type[Exception]], ...] = (
    ("SPARK_UNAVAILABLE", flight.FlightUnavailableError),
    ("57P", flight.FlightUnavailableError),
    ("HY008", flight.FlightCancelledError),
    ("57014", flight.FlightTimedOutError),
    ("28", flight.FlightUnauthenticatedError),
    ("42501", flight.FlightUnauthorizedError),
    ("53", flight.FlightUnavailableError),
    ("INTERNAL_ERROR", flight.FlightInternalError),
    ("XX", flight.FlightInternalError),
)
