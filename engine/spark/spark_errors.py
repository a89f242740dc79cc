"""Translates exceptions from Java: the gateway's own errors, and Spark's errors with Spark's conditions.

The user sees Spark's sentence without the Java stack, without the plan that Spark appends, and with table names instead
of generated scan names. Positions are removed too, because they refer to the rewritten text; the failing text stays. An
error that the statement did not cause (an I/O failure, a bug) is logged with its stack trace.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from catalog.conditions import (
    ColumnNotRead,
    DataFileNotFound,
    DataFileNotReadable,
    DataFileWithoutFieldIds,
    DeletionVectorCardinalityMismatch,
    DeletionVectorChecksumMismatch,
    DeletionVectorSizeMismatch,
    FunctionNotAvailable,
    IdentityExhausted,
    LentCredentialsNotInSpark,
    LogFileNotFound,
    LogPathNotAllowed,
    MalformedLogEntry,
    OutOfMemory,
    ParameterNotBound,
    PlacesUnderPolicy,
    PlanRefused,
    RelationNotBound,
    ResultTooLarge,
    RowsNotTracked,
    SourceWithoutColumns,
    SparkFailure,
    SparkRestarting,
    StatementCancelled,
    StatisticsExceeded,
    UnsupportedClause,
    ValueTooLarge,
    ViewChanged,
)
from catalog.errors import SqlError
from engine.errors.disk_errors import reported_storage_error
from engine.sql.query.bodies import with_function_names

_log = logging.getLogger(__name__)

CONTEXT_STOPPED = "its context stopped"

_SQLSTATE_AND_POSITION = re.compile(r"\s*SQLSTATE: \w{5}.*", re.DOTALL)
_ROW_FIELD = re.compile(
    r"No such struct field `((?:base_)?row_id|(?:default_)?row_commit_version)` in `file_path`", re.IGNORECASE
)
_NO_FIELD_IDS = "Parquet file schema doesn't contain any field Ids"
_CALL_NOT_POSSIBLE = "Trace:"
_QUOTED = "\n== SQL ==\n"
_FRAGMENT_MAX = 500
_SHOWN_MAX = 4000
_WRITE_FAILED = "TASK_WRITE_FAILED"
_NO_MEMORY = frozenset(
    {
        "AGGREGATE_OUT_OF_MEMORY",
        "POINTER_ARRAY_OUT_OF_MEMORY",
        "UNABLE_TO_ACQUIRE_MEMORY",
        "_LEGACY_ERROR_TEMP_2105",  # out of memory growing a map
        "_LEGACY_ERROR_TEMP_2107",  # out of memory for a join's hash map
        "_LEGACY_ERROR_TEMP_2250",  # out of memory for a broadcast
    }
)
# SQLSTATE classes for errors that may contain a value.
_OF_DATA = ("21", "22", "23", "P0")

_RAISED = "USER_RAISED_EXCEPTION"
# The prefix in errors raised by a written table's rules (`engine.enforcement.row_rules`).
_OF_RULE = re.compile(r"[0-9a-f]{32}:\d+:")

_HIDDEN = (
    "A view, function, row filter or column mask that the statement reads cannot be evaluated. What failed is told to "
    "those who may read all that it reads."
)
_MARKERS = ("NamedParameter", "PosParameter")
_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@contextmanager
def translated(
    jvm: Any, labels: Mapping[str, str] = _NO_LABELS, own_texts: frozenset[str] | None = None
) -> Iterator[None]:
    """Translates exceptions from calls to Java; `labels` maps scan names and directories to table names.

    With `own_texts`, an error about another text is reduced to its condition: it may contain values, names and text
    that views and policies hide.
    """
    try:
        try:
            yield
        except Py4JJavaError as error:
            raise _translate(error, jvm, labels, own_texts) from error
    except Py4JJavaError:
        raise  # raised by the translation itself: a bug
    except (Py4JError, ConnectionError) as error:
        if _CALL_NOT_POSSIBLE in str(error):
            raise  # a call that Java does not have: a bug
        _log.debug("the connection to Spark is lost", exc_info=error)
        raise SparkRestarting("the connection to its process was lost") from error


def _translate(error: Py4JJavaError, jvm: Any, labels: Mapping[str, str], own_texts: frozenset[str] | None) -> SqlError:
    known: dict[str, Any] = json.loads(jvm.deltagateway.Failures.describe(error.java_exception))
    if known["stopped"]:
        return SparkRestarting(CONTEXT_STOPPED)
    if own_texts is not None and known.get("refusal") == "view column":
        return ViewChanged("a column of a view")
    if own_texts is not None and known.get("refusal") == "column of files":
        return ColumnNotRead("below a view, row filter or column mask", "a column of a type unlike its files'")
    if "refusal" in known:
        return _refusal(known["refusal"], known["subject"], labels)
    condition, sqlstate = known.get("condition"), known.get("sqlstate")
    if own_texts is not None and known.get("path"):
        known["path"] = "of a table below a view, row filter or column mask"
    if condition == DataFileNotFound.condition:
        return DataFileNotFound(restore_names(known["path"], labels))
    if condition == DataFileNotReadable.condition and known.get("path"):
        path, reason = restore_names(known["path"], labels), known["cause"].rstrip(".")
        return DataFileWithoutFieldIds(path) if _NO_FIELD_IDS in reason else DataFileNotReadable(path, reason)
    message: str = known["message"]
    of_data = str(sqlstate)[:2] in _OF_DATA  # its message contains a value, which may resemble any error
    if not of_data and (refused := reported_storage_error(f"{message} {known['cause']}")):
        return refused
    if known["out_of_memory"] or condition in _NO_MEMORY:
        return OutOfMemory()
    if known["class"] == "java.lang.ArithmeticException":
        condition, sqlstate = "ARITHMETIC_OVERFLOW", "22003"
    if condition == RowsNotTracked.condition and (field := _ROW_FIELD.search(message)):
        return RowsNotTracked(field[1])
    if condition is None or condition.startswith("INTERNAL_ERROR"):
        _log.error("Spark failed: %s", error)
    reported = condition or SparkFailure.condition, sqlstate or SparkFailure.sqlstate
    if own_texts is not None and not _is_own(known, own_texts):
        return SparkFailure(*reported, _HIDDEN)
    text = _sentence(message, condition) if condition else f"{known['class'].rsplit('.', 1)[-1]}: {message}"
    text, _, quoted = with_function_names(text).partition(_QUOTED)
    if condition == _WRITE_FAILED:  # it reports where the failure happened, not the cause
        text += f" {known['cause']}"
    if known.get("column"):  # the value is computed during the write: the message contains it
        text = f"A value for the column {known['column']} cannot be stored; nothing was written. {text}"
    elif fragment := known.get("fragment") or quoted:
        fragment = with_function_names(fragment)
        text += _QUOTED + (fragment if len(fragment) <= _FRAGMENT_MAX else fragment[:_FRAGMENT_MAX] + " …")
    return SparkFailure(*reported, restore_names(text, labels)[:_SHOWN_MAX])


def _is_own(known: Mapping[str, Any], own_texts: frozenset[str]) -> bool:
    """Returns whether an error refers to the user's own text, or reveals no row."""
    condition = known.get("condition")
    of_rule = condition == _RAISED and _OF_RULE.match(_sentence(known["message"], condition))
    if known.get("column") or of_rule:
        return True
    if known.get("text"):
        return known["text"] in own_texts
    return bool(condition) and str(known.get("sqlstate"))[:2] not in _OF_DATA


def _refusal(kind: str, subject: str, labels: Mapping[str, str]) -> SqlError:
    match kind:
        case "cancelled":
            return StatementCancelled()
        case "memory":
            return OutOfMemory()
        case "result too large":
            return ResultTooLarge(int(subject))
        case "sum beyond statistics":
            return StatisticsExceeded()
        case "place":
            return PlacesUnderPolicy(subject)
        case "view column":
            return ViewChanged(subject)
        case "column of files":
            table, _, part = subject.partition("\n")
            return ColumnNotRead(restore_names(table, labels), part)
        case "deletion vector":
            source, _, detail = subject.partition("\n")
            return MalformedLogEntry(restore_names(source, labels), detail)
        case "deletion vector missing":
            return LogFileNotFound(restore_names(subject, labels))
        case "deletion vector checksum":
            return DeletionVectorChecksumMismatch(restore_names(subject, labels))
        case "deletion vector size" | "deletion vector cardinality":
            source, expected, actual = subject.rsplit("\n", 2)
            mismatch = DeletionVectorSizeMismatch if kind.endswith("size") else DeletionVectorCardinalityMismatch
            return mismatch(restore_names(source, labels), int(expected), int(actual))
        case "log path":
            root, _, path = subject.partition("\n")
            return LogPathNotAllowed(restore_names(root, labels), path)
        case "connector":
            place, _, connector = subject.partition("\n")
            return LentCredentialsNotInSpark(restore_names(place, labels), f"Spark has no class {connector} for them")
        case "cell size":
            return ValueTooLarge(subject)
        case "no columns":
            return SourceWithoutColumns(restore_names(subject, labels))
        case "relation":
            return RelationNotBound(restore_names(subject, labels))
        case "identity values":
            return IdentityExhausted(subject)
        case "lateral condition":
            clause = "A condition of LEFT JOIN LATERAL for a function that reads tables which you may not read"
            return UnsupportedClause(clause, "Use an inner join, or a condition in WHERE.")
        case "function" | "table function":
            return FunctionNotAvailable(f"{kind} {subject}")
        case "expression" if subject in _MARKERS:
            return ParameterNotBound()
        case _:  # Spark's text
            return PlanRefused(f"{kind} {subject}")


def _sentence(message: str, condition: str) -> str:
    """Returns Spark's text without condition, SQLSTATE, position and the rest."""
    return _SQLSTATE_AND_POSITION.sub("", message.strip().removeprefix(f"[{condition}]")).strip()


def restore_names(text: str, labels: Mapping[str, str]) -> str:
    """Returns `text` with scan names, quoted or not, and their directories replaced by table names."""
    if not labels:
        return text
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    return re.sub(rf"`({names})`|(?<!\w)({names})(?!\w)", lambda match: labels[match[1] or match[2]], text)
