"""Every condition that a client may meet is well formed, unique, and can be shown."""

from __future__ import annotations

import re
from collections import Counter
from string import Formatter

import catalog.conditions
from catalog.errors import declared_errors
from gateway.observability.status import Failure
from tests.tidy.condition_stubs import STUBS, stubs
from tests.tidy.sources import MODULES

CONDITIONS = [error for error in declared_errors() if error.__name__ in vars(catalog.conditions)]


def test_stubs_of_conditions_are_current() -> None:
    assert STUBS.read_text(encoding="utf-8") == stubs(), "run `make conditions`"


def test_each_condition_has_a_class_of_its_own() -> None:
    assert not [name for name, count in Counter(error.__name__ for error in CONDITIONS).items() if count > 1]


def test_each_condition_is_raised() -> None:
    text = "".join(module.text for module in MODULES.values())
    used = set(re.findall(r"\b[A-Z]\w+", text))
    assert not [error.__name__ for error in CONDITIONS if error.__name__ not in used]


def test_conditions_and_states_are_well_formed() -> None:
    wrong = [
        error.__name__
        for error in CONDITIONS
        if not re.fullmatch(r"[A-Z0-9_]+(\.[A-Z0-9_]+)*", error.condition)
        or not re.fullmatch(r"[0-9A-Z]{5}", error.sqlstate)
    ]
    assert not wrong


def test_a_message_is_made_of_the_fields_of_its_class() -> None:
    wrong = []
    for error in CONDITIONS:
        used = {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(error.template) if name}
        if not used <= set(error.signature.parameters):
            wrong.append(error.__name__)
    assert not wrong


# The conditions that are more than a bad request.
HTTP_ANSWERS = {
    (400, "INVALID_PARAMETER_VALUE"): {"INVALID_PARAMETER_VALUE.HTTP_FIELD"},
    (400, "MALFORMED_REQUEST"): {"MALFORMED_REQUEST", "MALFORMED_REQUEST.THRIFT"},
    (401, "UNAUTHENTICATED"): {
        "AUTHENTICATION_FAILED",
        "AUTHENTICATION_FAILED.COOKIE",
        "AUTHENTICATION_FAILED.CREDENTIALS",
        "AUTHENTICATION_FAILED.ENDED",
        "AUTHENTICATION_FAILED.GROUP",
        "AUTHENTICATION_FAILED.IDENTITY_PROVIDER",
        "AUTHENTICATION_FAILED.LOGIN_NOT_STARTED",
        "AUTHENTICATION_FAILED.UNENCRYPTED",
        "FORWARDED_REQUEST_REFUSED",
        "HOST_NOT_LOOPBACK",
        "PASSWORD_INVALID",
    },
    (403, "PERMISSION_DENIED"): {
        "HTTP_FOREIGN_PAGE",
        "HTTP_HOST_REFUSED",
        "INSUFFICIENT_PERMISSIONS",
        "INSUFFICIENT_PERMISSIONS.ADMINISTRATOR",
        "INSUFFICIENT_PERMISSIONS.OWNER",
        "INSUFFICIENT_PERMISSIONS.SCOPE",
        "INSUFFICIENT_PERMISSIONS_UNDERLYING_SECURABLES",
        "LOG_PATH_NOT_ALLOWED",
        "PATH_NOT_ALLOWED",
        "REST_TABLE_IN_LAKE",
        "PROXY_USER_NOT_ALLOWED",
        "RESULT_LINK_REFUSED",
        "TOKEN_NOT_ALLOWED",
        "VOLUME_FILE_NOT_ALLOWED",
        "SAVED_QUERY_NOT_ALLOWED",
    },
    (404, "NOT_FOUND"): {"VOLUME_FILE_NOT_FOUND", "VOLUME_PATH_NOT_FOUND"},
    (404, "RESOURCE_DOES_NOT_EXIST"): {
        "INVALID_HANDLE.CHUNK_NOT_FOUND",
        "INVALID_HANDLE.FORMAT",
        "INVALID_HANDLE.OPERATION_ABANDONED",
        "INVALID_HANDLE.OPERATION_ALREADY_EXISTS",
        "INVALID_HANDLE.OPERATION_CLOSED",
        "INVALID_HANDLE.OPERATION_NOT_FOUND",
        "INVALID_HANDLE.PREPARED_STATEMENT_NOT_FOUND",
        "INVALID_HANDLE.SESSION_CHANGED",
        "INVALID_HANDLE.SESSION_CLOSED",
        "INVALID_HANDLE.SESSION_NOT_FOUND",
        "SAVED_QUERY_NOT_FOUND",
    },
    (405, "METHOD_NOT_ALLOWED"): {"METHOD_NOT_ALLOWED"},
    (409, "ALREADY_EXISTS"): {"FILE_IN_STAGING_PATH_ALREADY_EXISTS"},
    (409, "DIRECTORY_NOT_EMPTY"): {"DIRECTORY_NOT_EMPTY"},
    (409, "INVALID_STATE"): {"RESULT_NOT_READY"},
    (409, "RESOURCE_CONFLICT"): {"SAVED_QUERY_CHANGED"},
    (411, "LENGTH_REQUIRED"): {"LENGTH_REQUIRED"},
    (415, "UNSUPPORTED_MEDIA_TYPE"): {"UNSUPPORTED_MEDIA_TYPE", "UNSUPPORTED_MEDIA_TYPE.THRIFT"},
    (429, "REQUEST_LIMIT_EXCEEDED"): {
        "DISK_FULL",
        "FLIGHT_CALLS_EXCEEDED",
        "OUT_OF_MEMORY",
        "POSTGRES_TOO_MANY_CONNECTIONS",
        "TOO_MANY_PREPARED_OBJECTS",
        "RESULT_SPOOL_FULL",
        "RESULT_SPOOL_FULL.OF_USER",
        "SYSTEM_CATALOG_QUERY_TOO_LARGE",
        "SAVED_QUERY_LIMIT_EXCEEDED.NUMBER",
        "SAVED_QUERY_LIMIT_EXCEEDED.SIZE",
        "STATEMENT_QUEUED_TOO_LONG",
        "TOO_MANY_ABANDONED_STATEMENTS",
        "TOO_MANY_ABANDONED_STATEMENTS.OF_OWNER",
        "TOO_MANY_CALLS",
        "TOO_MANY_FAILED_LOG_INS",
        "TOO_MANY_LOG_INS",
        "TOO_MANY_QUEUED_STATEMENTS",
        "TOO_MANY_REQUESTS_WAITING",
        "TOO_MANY_SESSIONS",
        "TOO_MANY_STATEMENTS",
        "TOO_MANY_SESSIONS.OF_USER",
        "TOO_MANY_STATEMENTS.OF_USER",
    },
    (500, "INTERNAL_ERROR"): {
        "AUDIT_TRAIL_BROKEN",
        "CHANGED_ROWS_DIFFER",
        "DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH",
        "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH",
        "DELTA_DELETION_VECTOR_SIZE_MISMATCH",
        "DELTA_MALFORMED_LOG_ENTRY",
        "ICEBERG_METADATA_MALFORMED",
        "DELTA_METADATA_ABSENT",
        "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA",
        "DELTA_STATE_RECOVER_ERROR",
        "DELTA_TXN_LOG_FAILED_INTEGRITY",
        "INTERNAL_ERROR",
        "INVALID_VIEW_TEXT",
        "RESULT_ROWS_DIFFER",
        "RESULT_SPOOL_LOST",
        "SAVED_QUERY_UNREADABLE",
        "SPARK_ERROR",
        "STATISTICS_EXCEEDED",
    },
    (421, "MISDIRECTED_REQUEST"): {"SESSION_NOT_HERE"},
    (502, "GATEWAY_CONNECTION_LOST"): {"GATEWAY_CONNECTION_LOST"},
    (503, "TEMPORARILY_UNAVAILABLE"): {
        "DIRECTORY_UNAVAILABLE",
        "ENGINE_NOT_ANSWERING",
        "IDENTITY_PROVIDER_UNAVAILABLE",
        "SERVER_SHUTTING_DOWN",
        "SERVER_STARTING",
        "IDLE_SESSION_TIMEOUT",
        "SESSION_IN_TRANSFER",
        "SPARK_RESTARTING",
        "SPARK_UNAVAILABLE",
        "STATEMENT_INTERRUPTED",
        "STATE_LOST",
    },
}


def test_http_answers_each_condition_as_listed_and_others_as_bad_requests() -> None:
    found: dict[tuple[int, str], set[str]] = {}
    for error in CONDITIONS:
        failure = Failure(condition=error.condition, sqlstate=error.sqlstate, message="")
        found.setdefault((failure.http_status.value, failure.http_error_code), set()).add(error.condition)
    assert len(found.pop((400, "BAD_REQUEST"))) > 200
    assert found == HTTP_ANSWERS
