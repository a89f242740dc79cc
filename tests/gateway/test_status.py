"""Error translation: every declared condition has an HTTP status, and internal errors show no details."""

from __future__ import annotations

import logging
from http import HTTPStatus

import pytest

from catalog.conditions import (
    HandlerConditionNotFound,
    OperationNotFound,
    ResultNotReady,
    ResultTooLarge,
    ServerDraining,
    SessionNotFound,
    SparkFailure,
    SparkRestarting,
    SparkUnavailable,
    StatementCancelled,
    StatementTimedOut,
    TooManyAbandoned,
    TooManySessions,
)
from catalog.errors import Position, SqlError, declared_errors
from gateway.observability.status import Failure, describe

CASES = [
    (SessionNotFound(), "08003", HTTPStatus.NOT_FOUND, "RESOURCE_DOES_NOT_EXIST"),
    (OperationNotFound(), "HY000", HTTPStatus.NOT_FOUND, "RESOURCE_DOES_NOT_EXIST"),
    (ResultNotReady(), "55000", HTTPStatus.CONFLICT, "INVALID_STATE"),
    (TooManySessions(3), "53300", HTTPStatus.TOO_MANY_REQUESTS, "REQUEST_LIMIT_EXCEEDED"),
    (ServerDraining(), "57P01", HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE"),
    (SparkRestarting("it ended"), "57P03", HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE"),
    (SparkUnavailable("it ended"), "08S01", HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE"),
    (TooManyAbandoned(8), "53000", HTTPStatus.TOO_MANY_REQUESTS, "REQUEST_LIMIT_EXCEEDED"),
    (StatementCancelled(), "HY008", HTTPStatus.BAD_REQUEST, "BAD_REQUEST"),
    (StatementTimedOut(2.0), "57014", HTTPStatus.BAD_REQUEST, "BAD_REQUEST"),
    (ResultTooLarge(10), "54000", HTTPStatus.BAD_REQUEST, "BAD_REQUEST"),
    (SparkFailure("DIVIDE_BY_ZERO", "22012", "[…]"), "22012", HTTPStatus.BAD_REQUEST, "BAD_REQUEST"),
    (SparkFailure("INSUFFICIENT_PERMISSIONS", "42501", "no"), "42501", HTTPStatus.FORBIDDEN, "PERMISSION_DENIED"),
    (SparkFailure("SPARK_ERROR", "XX000", "?"), "XX000", HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
]


@pytest.mark.parametrize(("error", "sqlstate", "status", "code"), CASES, ids=lambda case: type(case).__name__)
def test_an_error_keeps_its_condition_and_gets_a_status(
    error: SqlError, sqlstate: str, status: HTTPStatus, code: str
) -> None:
    failure = describe(error)
    assert (failure.condition, failure.sqlstate) == (error.condition, sqlstate)
    assert failure.message == str(error)
    assert (failure.http_status, failure.http_error_code) == (status, code)


def test_position_and_hint_are_fields_of_their_own() -> None:
    text = "SELECT 1,\n  nope FROM t"
    error = SparkFailure("UNRESOLVED_COLUMN", "42703", "No column nope.", "Did you mean note?")
    error.position = Position.in_text(text, text.index("nope"))
    failure = describe(error)
    assert failure.message == (
        "[UNRESOLVED_COLUMN] No column nope (line 2, column 3). SQLSTATE: 42703\n"
        "  nope FROM t\n  ^\nHint: Did you mean note?"
    )
    assert failure.details == {
        "condition": "UNRESOLVED_COLUMN",
        "hint": "Did you mean note?",
        "line": 2,
        "column": 3,
        "excerpt": "  nope FROM t\n  ^",
    }


def test_a_bug_shows_an_id_and_logs_the_trace(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        failure = describe(RuntimeError("secret path"))
    assert failure.condition == "INTERNAL_ERROR"
    assert failure.http_status is HTTPStatus.INTERNAL_SERVER_ERROR
    assert "secret" not in failure.message
    (record,) = caplog.records
    assert "secret path" in caplog.text
    error_id = str(record.args[0]) if isinstance(record.args, tuple) else ""
    assert error_id and error_id in failure.message


def test_only_lost_handles_are_stale() -> None:
    stale = {error.condition for error in declared_errors() if _failure(error).is_stale_handle}
    names = ("CHUNK_NOT_FOUND", "FORMAT", "OPERATION_CLOSED", "OPERATION_NOT_FOUND", "SESSION_NOT_FOUND")
    of_connect = ("OPERATION_ABANDONED", "OPERATION_ALREADY_EXISTS", "SESSION_CHANGED", "SESSION_CLOSED")
    of_flight = ("PREPARED_STATEMENT_NOT_FOUND",)
    assert stale == {f"INVALID_HANDLE.{name}" for name in (*names, *of_connect, *of_flight)}


def test_a_handler_of_a_script_is_no_handle() -> None:
    failure = describe(HandlerConditionNotFound("x"))
    assert not failure.is_stale_handle
    assert (failure.http_status, failure.http_error_code) == (HTTPStatus.BAD_REQUEST, "BAD_REQUEST")


def _failure(error: type[SqlError]) -> Failure:
    return Failure(condition=error.condition, sqlstate=error.sqlstate, message="")
