"""One table in a query as a value: its name and time travel. Rejects names that are files.

Rule for two-part names: ``delta.`/path` `` is the Delta table at a path, ``iceberg.`/path` `` the Iceberg table there.
``format.`…` `` is rejected as a file query if the second part is not a plain word (letters, digits, `_`) and the first
is one of Spark's file formats, or if the second part contains a slash. So a schema that is really called `csv` keeps
working, for tables with plain names.

Time travel may be written as a clause, as a suffix (`t@v3`), or at the end of a quoted path (``delta.`/p@v3` ``), which
Delta reads as a suffix too; a path that really ends like this cannot be named.
"""

from __future__ import annotations

import re
from datetime import datetime

from sqlglot import exp

from catalog.conditions import (
    InvalidTimeTravel,
    SeveralTimeTravels,
    TooManyNameParts,
    UnsupportedClause,
    UnsupportedPathRelation,
)
from catalog.names import DELTA, ICEBERG
from catalog.volumes.paths import names_volume_files
from engine.sql.dialect.dialect import SPAN, SUFFIX, TABLE_QUERY, SyntaxFailure
from engine.sql.query.values import AsOfReference, AsOfTimestamp, AsOfVersion, Relation, Span, TimeTravel

# First parts, in lower case, that make a two-part name a query over files or a service.
FILE_FORMATS = frozenset(
    {
        *(
            "avro",
            "binaryfile",
            "cloudfiles",
            "csv",
            "excel",
            "hudi",
            "image",
            "jdbc",
            "json",
            "jsonl",
            "kafka",
        ),
        *("libsvm", "orc", "parquet", "protobuf", "rate", "rate-micro-batch", "sequencefile", "socket", "statestore"),
        *("state-metadata", "text", "xml"),
    }
)

# Maximum number of name parts: a table and one of its metadata tables.
_PARTS_MAX = 4
_WORD = re.compile(r"\w+")
# The same patterns as in Delta's `DeltaTimeTravelSpec`: `@v` with a version, or `@` with 17
# digits.
_PATH_SUFFIX = re.compile(r"(?s)(.+)@(?:[vV]([0-9]{1,18})|([0-9]{17}))")
_VERSION = re.compile(r"[0-9]{1,20}")
# Maximum snapshot id; some are unsigned.
_VERSION_MAX = 2**64 - 1
_TIMESTAMP_SUFFIX = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})", re.ASCII)


def table_name(node: exp.Table) -> tuple[tuple[str, ...], Span]:
    """Returns the parts of a table name, without quotes, and its span. Rejects more than three parts."""
    parts = node.parts
    names = tuple(part.name for part in parts)
    if any("start" not in part.meta for part in parts):
        raise SyntaxFailure(f"{'.'.join(names)!r} cannot be read as the name of a table", 0)
    if len(names) > _PARTS_MAX:
        raise TooManyNameParts(".".join(names), _PARTS_MAX)
    return names, Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)


def has_time_travel(node: exp.Table) -> bool:
    """Returns True for `VERSION AS OF`, `TIMESTAMP AS OF` and the `@v1` suffix."""
    return bool(node.args.get("version") or node.meta.get(SUFFIX))


def read_relation(node: exp.Table, text: str) -> Relation:
    """Returns the relation that `node` names in `text`. Rejects files and invalid time travel by name."""
    parts, span = table_name(node)
    if not names_volume_files(parts):
        ensure_not_files(parts)
    versions = [version for version in (node.meta.get(SUFFIX), node.args.get("version")) if version is not None]
    time_travels = [_time_travel(version, text) for version in versions]
    parts, suffixed = split_path_suffix(parts)
    if suffixed is not None:
        time_travels.append(suffixed)
    # Delta rejects two forms at once as well
    # (DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS).
    if len(time_travels) > 1:
        raise SeveralTimeTravels(".".join(parts))
    end = max((version.meta[SPAN][1] for version in versions), default=span.end)
    sample = node.args.get("sample")
    if sample is not None and sample.meta[SPAN][1] < end:
        raise UnsupportedClause("TABLESAMPLE before AS OF", "Put the AS OF clause first.")
    return Relation(
        name_parts=parts,
        span=Span(span.start, end),
        alias=node.alias or None,
        alias_at=None if node.meta.get(TABLE_QUERY) else (sample.meta[SPAN][1] if sample is not None else end),
        time_travel=time_travels[0] if time_travels else None,
    )


def split_path_suffix(parts: tuple[str, ...]) -> tuple[tuple[str, ...], TimeTravel | None]:
    """Returns the name without the time travel at the end of its quoted path, and the time travel."""
    suffixed = _PATH_SUFFIX.fullmatch(parts[1]) if len(parts) == 2 and parts[0].lower() == "delta" else None
    if suffixed is None:
        return parts, None
    path, version, time = suffixed.groups()
    return (parts[0], path), AsOfVersion(int(version)) if version else parse_timestamp_suffix(time)


def ensure_not_files(parts: tuple[str, ...]) -> None:
    """Rejects a name that Spark would read as files, by the module's rule."""
    if is_file_name(parts):
        raise UnsupportedPathRelation(parts[0])


def is_file_name(parts: tuple[str, ...]) -> bool:
    """Returns whether Spark would read a name as files, by the module's rule."""
    if len(parts) != 2 or parts[0].lower() in (DELTA, ICEBERG):
        return False
    is_word = _WORD.fullmatch(parts[1]) is not None
    return "/" in parts[1] or (parts[0].lower() in FILE_FORMATS and not is_word)


def parse_timestamp_suffix(digits: str) -> AsOfTimestamp:
    """Parses `20240131120000000` (yyyyMMddHHmmssSSS) as a timestamp in the session's time zone."""
    match = _TIMESTAMP_SUFFIX.fullmatch(digits)
    if match is None:
        raise InvalidTimeTravel(f"@{digits}")
    year, month, day, hour, minute, second, milliseconds = (int(field) for field in match.groups())
    try:
        time = datetime(year, month, day, hour, minute, second, milliseconds * 1000)
    except ValueError:
        raise InvalidTimeTravel(f"@{digits}") from None
    return AsOfTimestamp(f"TIMESTAMP '{time.isoformat(' ', 'milliseconds')}'")


def _time_travel(version: exp.Version, text: str) -> TimeTravel:
    start, end = version.meta[SPAN]
    value = version.expression.this
    if version.this == "VERSION":
        if _VERSION.fullmatch(value) and int(value) <= _VERSION_MAX:
            return AsOfVersion(int(value))
        if version.expression.is_string and version.args["kind"] != "@" and not value.isdecimal() and value:
            return AsOfReference(value)
        raise InvalidTimeTravel(text[start:end])
    if version.args["kind"] == "@":
        return parse_timestamp_suffix(value)
    return AsOfTimestamp(value)
