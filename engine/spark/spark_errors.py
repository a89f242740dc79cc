"""Translates exceptions from Java: the gateway's own errors, and Spark's errors with Spark's conditions.

The user sees Spark's sentence without the Java stack, without the plan that Spark appends, and with table names instead
of generated scan names. Advice that Spark appends becomes the hint. The position is mapped from the text that Spark
parsed to the user's own text (`engine.sql.query.source_text`), or to the text of the view that contains it. An error
that the statement did not cause (an I/O failure, a bug) is logged with its stack trace.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
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
    StorageAccessFailed,
    UnsupportedClause,
    ValueTooLarge,
    VendedCredentialsNotInSpark,
    ViewChanged,
    ViewTypeNotCast,
    ViewTypeNotUpCast,
)
from catalog.errors import Position, SparkError, SqlError
from engine.errors.disk_errors import is_read_failure, reported_storage_error
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.sql.query.bodies import with_function_names
from engine.sql.query.source_text import SourceText, position_in

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

# The errors for a view's column whose type changed, by the kind of Java's rejection (`ViewColumns.java`).
_TYPE_MISMATCHES: Mapping[str, Callable[[str, str, str], SqlError]] = MappingProxyType(
    {"view column without up cast": ViewTypeNotUpCast, "view column without cast": ViewTypeNotCast}
)
_RAISED = "USER_RAISED_EXCEPTION"
# The prefix in errors raised by a written table's rules (`engine.enforcement.row_writing`).
_RAISED_BY_CHECK = re.compile(r"[0-9a-f]{32}:\d+:")

_HIDDEN = (
    "A view, function, row filter or column mask that the statement reads cannot be evaluated. What failed is told to "
    "those who may read all that it reads."
)
_HIDDEN_FILE = "of a table below a view, row filter or column mask"
_HIDDEN_REASON = "the reason is reported to those who may read the table"
_MARKERS = ("NamedParameter", "PosParameter")
# Where the advice begins that Spark appends to its sentence.
_ADVICE = re.compile(
    r"(?<=[.\]])\s+(?=(?:Use|Did you mean|Add|If|Please|Correct|Rewrite|Try|Consider|Set|To|Perhaps)\b)"
)
# Functions of other systems, in lower case, and those of Spark that do the same.
_SYNONYMS = {
    "getdate": "current_timestamp()",
    "sysdate": "current_timestamp()",
    "sysdatetime": "current_timestamp()",
    "newid": "uuid()",
    "group_concat": "listagg()",
    "isnumeric": "try_cast()",
    "to_clob": "CAST(… AS STRING)",
}


@dataclass(frozen=True, slots=True)
class Translation:
    """What errors of a statement's query are translated with.

    `labels` maps names and folders of scans to tables' names. `own_texts`: of an error that is not about one of these,
    only the condition is shown: it may have values, names and text that views and policies hide; None: all are shown.
    `texts` are those that Spark is given, with the name of the view, or an empty name for the statement's own.
    """

    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_texts: frozenset[str] | None = None
    texts: Sequence[tuple[str, str]] = ()

    def position(self, known: Mapping[str, Any]) -> Position | None:
        """Returns the place in what the user wrote; Spark knows `start`, in UTF-16 units from 0, of a `text`."""
        text, start = known.get("text"), known.get("start")
        if start is None or (self.own_texts is not None and text not in self.own_texts):
            return None
        for given, view in self.texts:
            if given == text and isinstance(given, SourceText):
                # Java counts UTF-16 units, Python code points: an emoji before the place
                # would shift it.
                offset = len(given.encode("utf-16-le")[: 2 * start].decode("utf-16-le", "ignore"))
                return position_in(given, offset, view)
        return None


_NO_TRANSLATION = Translation()


@contextmanager
def translate_errors(jvm: Any, translation: Translation = _NO_TRANSLATION) -> Iterator[None]:
    """Translates exceptions from calls to Java."""
    try:
        try:
            yield
        except Py4JJavaError as error:
            raise _translate(error, jvm, translation) from error
    except Py4JJavaError:
        raise  # raised by the translation itself: a bug
    except (Py4JError, ConnectionError) as error:
        if _CALL_NOT_POSSIBLE in str(error):
            raise  # a call that Java does not have: a bug
        _log.debug("the connection to Spark is lost", exc_info=error)
        raise SparkRestarting("the connection to its process was lost") from error


def _translate(error: Py4JJavaError, jvm: Any, translation: Translation) -> SqlError:
    labels, own_texts = translation.labels, translation.own_texts
    # One call instead of one per property: each access to a Java exception through py4j is
    # a round trip.
    known: dict[str, Any] = json.loads(jvm.deltagateway.protocol.ExceptionDetails.describe(error.java_exception))
    if known["stopped"]:
        return SparkRestarting(CONTEXT_STOPPED)
    if own_texts is not None and known.get("refusal") == "view column":
        return ViewChanged("a column of a view")
    if own_texts is not None and (mismatch := _TYPE_MISMATCHES.get(known.get("refusal", ""))):
        return mismatch("a column of a view", "another type", "its own")
    if own_texts is not None and known.get("refusal") == "column of files":
        return ColumnNotRead("below a view, row filter or column mask", "a column of a type unlike its files'")
    if "refusal" in known:
        refusal = _refusal(known["refusal"], known["subject"], labels)
        if refusal.position is None:
            refusal.position = translation.position(known)
        return refusal
    condition, sqlstate = known.get("condition"), known.get("sqlstate")
    if condition == DataFileNotFound.condition or (condition == DataFileNotReadable.condition and known.get("path")):
        return _file_error(known, translation)
    if condition is None and known["of_storage"]:
        return StorageAccessFailed(_HIDDEN_REASON if own_texts is not None else restore_names(_cause(known), labels))
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
    # Only these are worth a stack trace in the log; all other conditions are the user's
    # errors.
    if condition is None or condition.startswith("INTERNAL_ERROR"):
        _log.error("Spark failed: %s", error)
    reported = condition or SparkFailure.condition, sqlstate or SparkFailure.sqlstate
    if own_texts is not None and not _is_own(known, own_texts):
        return SparkFailure(*reported, _HIDDEN)
    text = _sentence(message, condition) if condition else f"{known['class'].rsplit('.', 1)[-1]}: {message}"
    text = with_function_names(text).partition(_QUOTED)[0]
    if condition == _WRITE_FAILED:  # it reports where the failure happened, not the cause
        text += f" {known['cause']}"
    advice = ""
    if condition not in (None, _RAISED):
        text, advice = (*_ADVICE.split(text, maxsplit=1), "")[:2]
    if known.get("column"):  # the value is computed during the write: the message contains it
        text = f"A value for the column {known['column']} cannot be stored; nothing was written. {text}"
    position = translation.position(known)
    if condition == "ARITHMETIC_OVERFLOW" and text.endswith("overflow."):
        text = "Arithmetic overflow: the result does not fit the type of the expression."
    if condition == "MISSING_GROUP_BY" and known.get("ungrouped"):
        text = f"The column {known['ungrouped']} is not aggregated, and the query does not include a GROUP BY clause."
        advice = f"Add GROUP BY {known['ungrouped']}, or aggregate the column, for example with any_value()."
    if position is None and not known.get("column") and (fragment := known.get("fragment")) and fragment not in text:
        text = f"{text} Expression: {with_function_names(fragment)[:_FRAGMENT_MAX]}"
    failure = SparkFailure(*reported, restore_names(text, labels)[:_SHOWN_MAX], restore_names(advice, labels))
    failure.position = position
    failure.spark = _spark_error(known, labels, with_fragment=position is not None)
    return failure


def _spark_error(known: Mapping[str, Any], labels: Mapping[str, str], *, with_fragment: bool) -> SparkError:
    parameters = {
        name: restore_names(with_function_names(str(value)).partition(_QUOTED)[0], labels)[:_SHOWN_MAX]
        for name, value in (known.get("parameters") or {}).items()
    }
    return SparkError(known["class"], parameters, (known.get("fragment") or "") if with_fragment else "")


def _file_error(known: Mapping[str, Any], translation: Translation) -> SqlError:
    """Returns the error for a data file that is missing or cannot be read."""
    is_hidden = translation.own_texts is not None
    path = _HIDDEN_FILE if is_hidden else restore_names(known["path"], translation.labels)
    # The reason may contain the path.
    reason = _HIDDEN_REASON if is_hidden else _cause(known)
    if known["of_storage"] or is_read_failure(known["cause"]):
        return StorageAccessFailed(f"{path}: {reason}")
    if known["condition"] == DataFileNotFound.condition:
        return DataFileNotFound(path)
    return DataFileWithoutFieldIds(path) if _NO_FIELD_IDS in known["cause"] else DataFileNotReadable(path, reason)


def _cause(known: Mapping[str, Any]) -> str:
    cause: str = known["cause"]
    return cause.rstrip(".")


def _is_own(known: Mapping[str, Any], own_texts: frozenset[str]) -> bool:
    """Returns whether an error refers to the user's own text, or reveals no row."""
    condition = known.get("condition")
    raised_by_check = condition == _RAISED and _RAISED_BY_CHECK.match(_sentence(known["message"], condition))
    if known.get("column") or raised_by_check:
        return True
    if known.get("text") and not known["class"].endswith(".ParseException"):  # no view or policy has a syntax error
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
        case "view column without up cast" | "view column without cast":
            column, view, found, expected = subject.split("\0")
            return _TYPE_MISMATCHES[kind](f"the column {column} of the view {view}", found, expected)
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
            return VendedCredentialsNotInSpark(restore_names(place, labels), f"Spark has no class {connector} for them")
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
            return FunctionNotAvailable(f"{kind} {subject}", _function_suggestion(subject))
        case "expression" if subject in _MARKERS:
            return ParameterNotBound()
        case _:  # Spark's text
            return PlanRefused(f"{kind} {subject}")


def _function_suggestion(name: str) -> str:
    """Returns the question for the function that was probably meant; empty if no name is close."""
    close = get_close_matches(name.lower(), ALLOWED_FUNCTIONS, n=1, cutoff=0.75)
    meant = _SYNONYMS.get(name.lower()) or (close[0] if close else "")
    return meant and f"Did you mean {meant}?"


def _sentence(message: str, condition: str) -> str:
    """Returns Spark's text without condition, SQLSTATE, position and the rest."""
    return _SQLSTATE_AND_POSITION.sub("", message.strip().removeprefix(f"[{condition}]")).strip()


def restore_names(text: str, labels: Mapping[str, str]) -> str:
    """Returns `text` with scan names, quoted or not, and their directories replaced by table names."""
    if not labels:
        return text
    names = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    return re.sub(rf"`({names})`|(?<!\w)({names})(?!\w)", lambda match: labels[match[1] or match[2]], text)
