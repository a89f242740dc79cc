"""Time travel in statements that are no queries: `t VERSION AS OF n`, `t TIMESTAMP AS OF e`, `t@v3`."""

from __future__ import annotations

import re

from catalog.conditions import InvalidTimeTravel, SeveralTimeTravels
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import read_table
from engine.sql.query.relations import parse_timestamp_suffix, split_path_suffix
from engine.sql.query.values import AsOfTimestamp, AsOfVersion, TimeTravel

_VERSION_WORDS = (("VERSION", "AS", "OF"), ("SYSTEM_VERSION", "AS", "OF"))
_TIMESTAMP_WORDS = (("TIMESTAMP", "AS", "OF"), ("SYSTEM_TIME", "AS", "OF"))
_VERSION = re.compile(r"[0-9]{1,18}")
_SUFFIX = re.compile(r"[vV]([0-9]{1,18})|([0-9]{17})")


def read_table_version(cursor: Cursor) -> tuple[tuple[str, ...], TimeTravel | None]:
    """A table, and the version or time that is said of it in one of three ways."""
    parts, suffix = split_path_suffix(read_table(cursor))
    if cursor.take("@"):
        suffix = _read_suffix(cursor)
    clause = take_time_travel(cursor)
    if suffix is not None and clause is not None:
        raise SeveralTimeTravels(".".join(parts))
    return parts, suffix or clause


def take_time_travel(cursor: Cursor) -> TimeTravel | None:
    """`[FOR] VERSION|SYSTEM_VERSION AS OF n`, `[FOR] TIMESTAMP|SYSTEM_TIME AS OF e`"""
    for words in _VERSION_WORDS:
        if cursor.take(*words) or cursor.take("FOR", *words):
            text = cursor.take_string()
            version = text if text is not None else cursor.read_any()
            if not _VERSION.fullmatch(version):
                raise InvalidTimeTravel(version)
            return AsOfVersion(int(version))
    for words in _TIMESTAMP_WORDS:
        if cursor.take(*words) or cursor.take("FOR", *words):
            return AsOfTimestamp(cursor.read_text(("TBLPROPERTIES",), ("LOCATION",), ("USING",)))
    return None


def _read_suffix(cursor: Cursor) -> TimeTravel:
    text = cursor.read_any()
    found = _SUFFIX.fullmatch(text)
    if found is None:
        raise InvalidTimeTravel(f"@{text}")
    version, time = found.groups()
    return AsOfVersion(int(version)) if version else parse_timestamp_suffix(time)
