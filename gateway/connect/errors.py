"""Errors as `google.rpc.Status` with an `ErrorInfo`, from which Spark Connect clients create their exceptions.

The metadata of `ErrorInfo` has the condition, the SQLSTATE, the message parameters and `classes`, the Java classes of
the exception: PySpark chooses its own class by them. gRPC limits the size of these headers, so an error with a longer
message, or with a position in the text, gets an id, by which the client requests it with FetchErrorDetails.

The status code of a failed statement is INTERNAL, as from Spark's server: clients repeat UNAVAILABLE, and a request
that was rejected before it began may be repeated (`RetryInfo`).
"""

from __future__ import annotations

import json
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message
from google.rpc.code_pb2 import INTERNAL, UNAUTHENTICATED, UNAVAILABLE
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from catalog.errors import Position, SqlError
from gateway.connect.proto import pb2
from gateway.observability.status import Failure, describe

# Limits in characters for parts of one response's headers; a client's limit for all headers is 8 KiB.
_MESSAGE_MAX, _PARAMETERS_MAX = 2048, 1024
# Errors that wait for FetchErrorDetails, per session; clients request an error at once.
_ERRORS_MAX = 20
_RETRY_S = 1

_ANALYSIS = "org.apache.spark.sql.AnalysisException"
_PARSE = "org.apache.spark.sql.catalyst.parser.ParseException"
_PLAN = "org.apache.spark.sql.connect.common.InvalidPlanInput"
_MISSING = "org.apache.spark.SparkNoSuchElementException"
_UNSUPPORTED = "java.lang.UnsupportedOperationException"
_ARITHMETIC, _NUMBER = "java.lang.ArithmeticException", "java.lang.NumberFormatException"
_INDEX, _DATE_TIME = "java.lang.ArrayIndexOutOfBoundsException", "java.time.DateTimeException"
_ARGUMENT, _RUNTIME = "java.lang.IllegalArgumentException", "org.apache.spark.SparkRuntimeException"
_SPARK = "org.apache.spark.SparkException"

_DELTA = "io.delta.exceptions."
_CONFLICT = f"{_DELTA}DeltaConcurrentModificationException"
# Conditions of conflicts → the class that Delta's client has for them.
_CONFLICTS = {
    "DELTA_CONCURRENT_APPEND": "ConcurrentAppendException",
    "DELTA_CONCURRENT_DELETE_READ": "ConcurrentDeleteReadException",
    "DELTA_CONCURRENT_DELETE_DELETE": "ConcurrentDeleteDeleteException",
    "DELTA_CONCURRENT_TRANSACTION": "ConcurrentTransactionException",
    "DELTA_CONCURRENT_WRITE": "ConcurrentWriteException",
    "DELTA_METADATA_CHANGED": "MetadataChangedException",
    "DELTA_PROTOCOL_CHANGED": "ProtocolChangedException",
}

# Simple names of Spark's own exceptions → the classes, which distinguish errors of one SQLSTATE.
_SPARK_CLASSES: Mapping[str, tuple[str, ...]] = {
    "SparkNumberFormatException": (_NUMBER, _ARGUMENT),
    "SparkDateTimeException": (_DATE_TIME,),
    "SparkArithmeticException": (_ARITHMETIC,),
    "SparkRuntimeException": (_RUNTIME,),
    "SparkArrayIndexOutOfBoundsException": (_INDEX,),
    "SparkUnsupportedOperationException": (_UNSUPPORTED,),
    "SparkIllegalArgumentException": (_ARGUMENT,),
    "SparkUpgradeException": ("org.apache.spark.SparkUpgradeException",),
    "ParseException": (_PARSE, _ANALYSIS),
    "AnalysisException": (_ANALYSIS,),
    "ExtendedAnalysisException": (_ANALYSIS,),
}

# The first row whose prefix matches the condition or the SQLSTATE applies.
_CLASSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((condition, (f"{_DELTA}{name}", _CONFLICT, _SPARK)) for condition, name in _CONFLICTS.items()),
    ("2D521", (_CONFLICT, _SPARK)),
    ("PARSE_", (_PARSE, _ANALYSIS)),
    ("DELTA_VACUUM_RETENTION", (_ARGUMENT,)),
    ("DELTA_CANNOT_RESTORE", (_ARGUMENT,)),
    ("CONNECT_INVALID_PLAN", (_PLAN,)),
    ("SQL_CONF_NOT_FOUND", (_MISSING,)),
    ("UNSUPPORTED_CONNECT_FEATURE", (_UNSUPPORTED,)),
    ("INVALID_CONF_VALUE", (_ARGUMENT,)),
    ("INVALID_ARRAY_INDEX", (_INDEX,)),
    ("22018", (_NUMBER, _ARGUMENT)),
    ("22012", (_ARITHMETIC,)),
    ("22003", (_ARITHMETIC,)),
    ("22007", (_DATE_TIME,)),
    ("22008", (_DATE_TIME,)),
    ("21", (_ANALYSIS,)),
    ("22", (_RUNTIME,)),
    ("42", (_ANALYSIS,)),
    ("0A", (_ANALYSIS,)),
    ("3F", (_ANALYSIS,)),
)


@dataclass(slots=True)
class ErrorDetails:
    """The details of a session's errors until their client requests them. Thread-safe."""

    _errors: OrderedDict[str, pb2.FetchErrorDetailsResponse] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, details: pb2.FetchErrorDetailsResponse) -> str:
        """Adds a response without the ids of the session; returns the error's id."""
        error_id = str(uuid.uuid4())
        with self._lock:
            self._errors[error_id] = details
            while len(self._errors) > _ERRORS_MAX:
                self._errors.popitem(last=False)
        return error_id

    def take(self, error_id: str) -> pb2.FetchErrorDetailsResponse:
        """Returns the response to FetchErrorDetails, which is empty for an unknown error."""
        with self._lock:
            return self._errors.pop(error_id, None) or pb2.FetchErrorDetailsResponse()


def abort(
    context: grpc.ServicerContext, error: BaseException, details: ErrorDetails | None, *, has_run: bool = False
) -> None:
    """Ends the call with `error`; `has_run` for a statement's own error. Raises."""
    context.abort_with_status(rpc_status.to_status(status_of(error, details, has_run=has_run)))


def status_of(error: BaseException, details: ErrorDetails | None, *, has_run: bool = False) -> Status:
    """Returns the status; `details` keeps the parts that are too large for its headers."""
    failure = describe(error)
    parameters = _parameters(error)
    classes = _classes(error, failure)
    text = json.dumps(parameters)
    metadata = {
        "classes": json.dumps([*classes, "java.lang.Exception"]),
        "errorClass": failure.condition,
        "sqlState": failure.sqlstate,
    }
    if len(text) <= _PARAMETERS_MAX:
        metadata["messageParameters"] = text
    is_long = len(failure.message) > _MESSAGE_MAX or len(text) > _PARAMETERS_MAX or failure.position is not None
    if is_long and details is not None:
        metadata["errorId"] = details.add(_details(error, failure, parameters))
    info = ErrorInfo(reason=classes[0], domain="org.apache.spark", metadata=metadata)
    status = Status(code=_code(failure, has_run=has_run), message=failure.message[:_MESSAGE_MAX])
    _add(status, info)
    if not has_run and failure.sqlstate.startswith("53"):
        retry = RetryInfo()
        retry.retry_delay.seconds = int(getattr(error, "retry_after_s", _RETRY_S))
        _add(status, retry)
    return status


def _details(error: BaseException, failure: Failure, parameters: Mapping[str, str]) -> pb2.FetchErrorDetailsResponse:
    found = pb2.FetchErrorDetailsResponse.Error(
        error_type_hierarchy=[*_classes(error, failure), "java.lang.Exception"],
        message=failure.message,
        spark_throwable=pb2.FetchErrorDetailsResponse.SparkThrowable(
            error_class=failure.condition,
            sql_state=failure.sqlstate,
            message_parameters=parameters,
        ),
    )
    if failure.position is not None:
        found.spark_throwable.query_contexts.append(_context(error, failure.position))
    return pb2.FetchErrorDetailsResponse(root_error_idx=0, errors=[found])


def _context(error: BaseException, position: Position) -> pb2.FetchErrorDetailsResponse.QueryContext:
    """Returns the place: the text of the expression if Spark's is what the user wrote, otherwise the line."""
    line, _, caret = position.excerpt.partition("\n")
    start, fragment = position.offset - (len(caret) - 1), line
    if isinstance(error, SqlError) and error.spark is not None and error.spark.fragment:
        if line.startswith(error.spark.fragment, len(caret) - 1):
            start, fragment = position.offset, error.spark.fragment
    return pb2.FetchErrorDetailsResponse.QueryContext(
        context_type=pb2.FetchErrorDetailsResponse.QueryContext.SQL,
        object_type="VIEW" if position.view else "",
        object_name=position.view,
        start_index=start,
        stop_index=start + max(0, len(fragment) - 1),
        fragment=fragment,
        summary=f"{position}\n{position.excerpt}",
    )


def _add(status: Status, detail: Message) -> None:
    packed = AnyMessage()
    packed.Pack(detail)
    status.details.append(packed)


def _classes(error: BaseException, failure: Failure) -> tuple[str, ...]:
    if isinstance(error, SqlError) and error.spark is not None:
        found = _SPARK_CLASSES.get(error.spark.java_class.rpartition(".")[2])
        if found is not None:
            return found
    for prefix, classes in _CLASSES:
        if failure.condition.startswith(prefix) or failure.sqlstate.startswith(prefix):
            return classes
    return (_SPARK,)


def _code(failure: Failure, *, has_run: bool) -> int:
    if failure.sqlstate.startswith("28"):
        return int(UNAUTHENTICATED)
    is_starting = failure.sqlstate.startswith("57P") or failure.condition == "SPARK_UNAVAILABLE"
    return int(UNAVAILABLE if is_starting and not has_run else INTERNAL)


def _parameters(error: BaseException) -> Mapping[str, str]:
    if not isinstance(error, SqlError):
        return {}
    if error.spark is not None:
        return error.spark.parameters
    return {name: str(getattr(error, name)) for name in error.signature.parameters}
