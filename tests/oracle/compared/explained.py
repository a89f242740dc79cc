"""Intentional differences from delta-spark, with reasons."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ABSENT = "<absent>"
_LAST_MILLISECOND = "9999-12-31T23:59:59.999"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`path` and `case` are regular expressions that match the whole; a path begins after the version."""

    path: str
    why: str
    holds: Callable[[Any, Any], bool] = lambda ours, theirs: True
    case: str = ".*"


def is_millisecond_later(ours: Any, theirs: Any) -> bool:
    """Returns if a timestamp bound is the next one that the log can express, or None if none exists."""
    if not isinstance(theirs, str) or not isinstance(ours, str):
        return False
    if ours == ABSENT:
        return theirs.startswith(_LAST_MILLISECOND)
    try:
        return dt.datetime.fromisoformat(ours) - dt.datetime.fromisoformat(theirs) == dt.timedelta(milliseconds=1)
    except ValueError:
        return False


EXPLAINED: tuple[Explained, ...] = (
    Explained(
        path=r"commitInfo\.userName",
        why="we know who runs a statement",
        holds=lambda ours, theirs: ours == "ann" and theirs == ABSENT,
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.predicate(\.0)?",
        why="we tell the condition as it was written, delta-spark as Spark has resolved it",
        holds=lambda ours, theirs: ABSENT not in (ours, theirs),
    ),
    Explained(
        path=r"cdc\..*",
        why="we write change files for rows in deletion vectors, since not every reader finds them there, and none "
        "where whole files go; what is read as changes is the same",
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.numAddedChangeFiles",
        why="as their number; and deleted and new rows are in the same files here",
        holds=lambda ours, theirs: ABSENT not in (ours, theirs),
    ),
    Explained(
        path=r"commitInfo\.tags\.delta\.rowTracking\.preserved",
        why="we also say it where delta-spark says nothing: no row was written again, or none is left",
        holds=lambda ours, theirs: ours in ("true", "false") and theirs == ABSENT,
    ),
    Explained(
        path=r"domainMetadata\.\d+\.configuration\.domainName",
        why="the protocol gives the domain of row tracking its high-water mark only",
        holds=lambda ours, theirs: ours == ABSENT and theirs == "delta.rowTracking",
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.\w+",
        why="parameters are texts in the log",
        holds=lambda ours, theirs: theirs in (True, False) and ours == str(theirs).lower(),
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.numRemovedBytes",
        why="DELETE tells it, and so does our TRUNCATE",
        holds=lambda ours, theirs: theirs == ABSENT,
        case="insert (truncate|nothing)",
    ),
    Explained(
        path=r"commitInfo\..*",
        why="our TRUNCATE makes a version of a table without rows, too",
        holds=lambda ours, theirs: theirs == ABSENT,
        case="insert nothing",
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.executionTimeMs",
        why="its TRUNCATE is a DELETE, which tells its times",
        holds=lambda ours, theirs: ours == ABSENT,
        case="insert truncate",
    ),
    Explained(
        path=r"outcome \d+",
        why="Spark's rule for the number of columns answers here, Delta's own there",
        holds=lambda ours, theirs: (
            (ours, theirs)
            == ("INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "DELTA_INSERT_COLUMN_ARITY_MISMATCH")
        ),
        case="insert append.*",
    ),
    Explained(
        path=r"outcome \d+",
        why="its REPLACE TABLE … AS says that it failed, and has replaced the table",
        holds=lambda ours, theirs: (ours, theirs) == ("done", "INTERNAL_ERROR"),
        case="insert create as",
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.properties\.delta\.feature\.\w+",
        why="names of features are spelled as in the protocol",
        case="table features",
    ),
    Explained(
        path=r"metaData\..*",
        why="metadata that stays the same is not written again",
        holds=lambda ours, theirs: ours == ABSENT,
        case="table (features|versions)",
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.ifExists",
        why="we tell whether the statement said so; it always says yes",
        holds=lambda ours, theirs: ours == "false" and theirs is True,
    ),
    Explained(
        path=r"metaData\.description|commitInfo\.operationParameters\.properties\.comment",
        why="a comment that is NULL is none; it makes an empty one",
        holds=lambda ours, theirs: ours in (None, ABSENT) and theirs == "",
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.column\.metadata.*",
        why="type changes are no part of what the statement says; it shows those of before",
        case="table types",
    ),
    Explained(
        path=r"commitInfo\.operationMetrics(\.numRemoved(Files|Bytes))?",
        why="we also tell which files a table without rows replaces",
        case="table replaced",
    ),
    Explained(
        path=r"commitInfo\.operationParameters\.column\..*",
        why="the column is shown whose type changes, not the elements in it",
        case="table elements",
    ),
    Explained(
        path=r"add\.\d+\.stats\.(min|max)Values(\.[\w-]+)*",
        why="a group without values is left out",
        holds=lambda ours, theirs: ours == ABSENT and theirs == {},
    ),
    Explained(
        path=r"add\.\d+\.stats\.(min|max)Values\.[\w-]+",
        why="NaN and infinities are no numbers of JSON",
        holds=lambda ours, theirs: ours == ABSENT and theirs in ("NaN", "Infinity", "-Infinity"),
    ),
    Explained(
        path=r"add\.\d+\.stats\.(min|max)Values\.[\w-]+",
        why="a float has the digits of its value; it shows as few as tell it from other floats",
        holds=lambda ours, theirs: ABSENT not in (ours, theirs) and bool(np.float32(ours) == np.float32(theirs)),
        case=".* float",
    ),
    Explained(
        path=r"add\.\d+\.stats\.maxValues\.[\w-]+",
        why="we round an upper bound up to a millisecond, and have none past the last one; it cuts",
        holds=lambda ours, theirs: is_millisecond_later(ours, theirs),
    ),
    Explained(
        path=r"add\.\d+\.stats\.maxValues(\.c)?",
        why="we cut texts after 32 characters, and not at all where nothing greater is as short; it counts half pairs",
        case="statistics (long string of other|last) characters",
    ),
    Explained(
        path=r"add\.\d+\.stats\.(min|max)Values\.c",
        why="we pad a CHAR where it is written, as Spark does; it does where it is read",
        holds=lambda ours, theirs: str(ours).rstrip() == theirs,
        case="statistics char",
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.numFiles",
        why="it counts the file without rows that it did not add",
        holds=lambda ours, theirs: ours == "0" and theirs == "1",
        case="insert overwrite.*",
    ),
    Explained(
        path=r"(commitInfo\.operationMetrics|add|remove)\..*",
        why="we mark the rows that REPLACE WHERE replaces in deletion vectors; it copies the others",
        case="insert replace, vectors",
    ),
    Explained(
        path=r"commitInfo\.operationMetrics\.num(Files|OutputRows|CopiedRows|DeletionVectors(Added|Removed|Updated))",
        why="files that REPLACE WHERE marks are no new files; it counts them as such, and their rows as copies",
        holds=lambda ours, theirs: theirs == ABSENT or int(ours) < int(theirs),
        case=r"table \d+",
    ),
    Explained(
        path=r"(add|remove)\.\d+\.(baseRowId|defaultRowCommitVersion)",
        why="the new files of a version get ids in the order in which they come",
        holds=lambda ours, theirs: ABSENT not in (ours, theirs),
        case=r"table \d+",
    ),
    Explained(
        path=r"add\.\d+\.stats\.tightBounds",
        why="bounds are tight where nothing is said",
        holds=lambda ours, theirs: ours == ABSENT and theirs is True,
    ),
    Explained(
        path=r"remove\.\d+\.stats\.numRecords",
        why="statistics of removes are optional; it has the number where it did not read the file",
        holds=lambda ours, theirs: ours == ABSENT,
    ),
    Explained(
        path=r"remove\.\d+\.partitionValues(\.[\w-]+)?",
        why="it leaves NULL out of the partition values of a remove, though the protocol has a value for each column",
        holds=lambda ours, theirs: (ours, theirs) in ((None, ABSENT), (ABSENT, {})),
    ),
)


# Our conditions and delta-spark's for the same rejected struct.
_SAME_MEANING = {
    ("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "FIELD_NOT_FOUND"),
    ("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "INTERNAL_ERROR"),  # delta-spark 4.4 has no text for its condition
    ("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION"),
    ("DELTA_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT", "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE"),
    ("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
    ("INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME", "AMBIGUOUS_REFERENCE_TO_FIELDS"),
    ("INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS", "DELTA_METADATA_MISMATCH"),
    ("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA", "DELTA_INSERT_COLUMN_ARITY_MISMATCH"),
    ("INCOMPATIBLE_DATA_FOR_TABLE.STRUCT_MISSING_FIELDS", "DELTA_INSERT_COLUMN_ARITY_MISMATCH"),
}
OF_STRUCTS: tuple[Explained, ...] = (
    Explained(
        path=r"outcome \d+",
        why="Spark's resolver of columns answers here, Delta's own there",
        holds=lambda ours, theirs: (ours, theirs) in _SAME_MEANING,
    ),
    Explained(
        path=".*",
        why="it casts structs in arrays and maps inside of arrays by position: other fields are an error, or not seen",
        case="struct (update|merge|nullness|evolved).*, (array|map) in array",
    ),
    Explained(
        path=r"SELECT .* s",
        why="it goes by position with BY NAME, too, if a value has to be cast",
        case="struct insert (evolving )?by name, cast, .*",
    ),
    Explained(
        path=".*",
        why="it puts fields of other names into those of the column by position; the rows are rejected here, or, with "
        "BY NAME and evolution, the fields are new",
        case="struct insert (into|overwrite|(evolving )?by name|replace where|evolving), (one other name|other names)",
    ),
    Explained(
        path=".*",
        why="with BY NAME and evolution a missing field is NULL, as a missing column is",
        case="struct insert evolving by name, one less",
    ),
    Explained(
        path=".*",
        why="clauses for rows without a match may set a field that another clause adds",
        case="struct evolved new field by source",
    ),
)


def is_explained(case: str, path: str, ours: Any, theirs: Any) -> bool:
    """Returns whether some explanation holds for these values."""
    inner = re.sub(r"^\d+ ", "", path)
    return any(
        re.fullmatch(each.path, inner) and re.fullmatch(each.case, case) and each.holds(ours, theirs)
        for each in (*EXPLAINED, *(OF_STRUCTS if case.startswith("struct ") else ()))
    )
