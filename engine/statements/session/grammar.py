"""Parses SET and RESET, whose values are raw text: Spark takes everything after `=`, quotes and comments included.

So they are read from the text, not from tokens; `SET x = it's` is valid, but not a valid token. `SET TIME ZONE` becomes
a value for `spark.sql.session.timeZone`, as in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import InvalidSetSyntax
from engine.runtime.settings import TIME_ZONE
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import SCHEMA_WORDS, read_catalog, read_schema
from engine.statements.session.statement import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema

_KEY = r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[\w.:\\-]+))"
_ASSIGNMENT = re.compile(rf"(?s)\s*{_KEY}\s*=(?P<value>.*)")
_KEY_ALONE = re.compile(rf"\s*{_KEY}\s*")
_TIME_ZONE = re.compile(r"(?is)\s*TIME\s+ZONE\b\s*(?P<value>.+)")
_VARIABLE = re.compile(r"(?i)\s*(VAR|VARIABLE)\b(?!\s*=)")
_PATH = re.compile(r"(?i)\s*PATH\s*=")
_OTHERS = re.compile(r"(?i)\s*(ROLE|COLLATION)\s")
_ZONE_NAME = re.compile(r"(?s)'([^'\\]+)'|\"([^\"\\]+)\"")
_INTERVAL = re.compile(
    r"(?is)INTERVAL\s+(?P<sign>[+-]?)\s*'?(?P<inner_sign>[+-]?)\s*(?P<hours>\d{1,2})(?::(?P<minutes>[0-5]?\d))?'?"
    r"\s+(?P<unit>HOURS?(?:\s+TO\s+MINUTE)?|MINUTES?)"
)
_ZONE_WORDS = re.compile(r"(?i)(LOCAL$|INTERVAL\b)")
_QUOTED_WHOLE = re.compile(r"`((?:[^`]|``)*)`")


def parse_set(rest: str) -> SetSetting | ShowSettings | ResetSetting:
    """Parses the text after `SET`, without the final semicolon. Raises `InvalidSetSyntax`."""
    if _VARIABLE.match(rest):
        raise unsupported_statement("SET VARIABLE")
    zone = _TIME_ZONE.fullmatch(rest)
    if zone is not None:
        return _set_time_zone(zone["value"].strip())
    if not rest.strip():
        return ShowSettings()
    if rest.strip() == "-v":
        return ShowSettings(verbose=True)
    if _PATH.match(rest):
        raise unsupported_statement("SET PATH")
    assignment = _ASSIGNMENT.fullmatch(rest)
    if assignment is not None:
        value = assignment["value"].strip()
        if _key(assignment).lower() == "timezone" and _ZONE_WORDS.match(value):  # Databricks' SET TIME ZONE
            return _set_time_zone(value)
        quoted = _QUOTED_WHOLE.fullmatch(value)
        return SetSetting(key=_key(assignment), value=quoted[1].replace("``", "`") if quoted else value)
    alone = _KEY_ALONE.fullmatch(rest)
    other = _OTHERS.match(rest)
    if alone is None and other is not None:
        raise unsupported_statement(f"SET {other[1].upper()}")
    if alone is None:
        raise InvalidSetSyntax()
    return ShowSettings(key=_key(alone))


def parse_reset(rest: str) -> ResetSetting:
    """Parses the text after `RESET`."""
    if not rest.strip():
        return ResetSetting()
    alone = _KEY_ALONE.fullmatch(rest)
    if alone is None:
        raise InvalidSetSyntax()
    return ResetSetting(key=_key(alone))


def _key(match: re.Match[str]) -> str:
    return match["quoted"].replace("``", "`") if match["quoted"] else match["plain"]


def _set_time_zone(value: str) -> SetSetting | ResetSetting:
    """Parses a zone; LOCAL is the server's zone, the setting's default."""
    if value.upper() == "LOCAL":
        return ResetSetting(key=TIME_ZONE)
    name = _ZONE_NAME.fullmatch(value)
    if name is not None:
        return SetSetting(key=TIME_ZONE, value=name[1] or name[2])
    interval = _INTERVAL.fullmatch(value)
    if interval is None:
        raise InvalidSetSyntax()
    return SetSetting(key=TIME_ZONE, value=_offset(interval))


def _offset(interval: re.Match[str]) -> str:
    """Converts `INTERVAL 5 HOURS`, `INTERVAL '-3:30' HOUR TO MINUTE` → `+05:00`, `-03:30`."""
    number = int(interval["hours"])
    unit = interval["unit"].upper()
    minutes = number if unit.startswith("MINUTE") else 60 * number
    if "TO" in unit.split():
        minutes += int(interval["minutes"] or 0)
    elif interval["minutes"]:
        raise InvalidSetSyntax()
    is_negative = (interval["sign"] == "-") != (interval["inner_sign"] == "-")
    return f"{'-' if is_negative else '+'}{minutes // 60:02}:{minutes % 60:02}"


def parse_use(cursor: Cursor) -> UseSchema | UseCatalog:
    """Parses `USE [CATALOG|SCHEMA|DATABASE|NAMESPACE] name`."""
    word = next(iter(cursor.words(1)), "")
    if word in ("CATALOG", *SCHEMA_WORDS):
        cursor.take(word)
        if cursor.is_done:
            return UseSchema(parts=(word.lower(),))
        if word == "CATALOG":
            return UseCatalog(catalog=read_catalog(cursor))
        return UseSchema(parts=read_schema(cursor), schema_only=True)
    return UseSchema(parts=read_schema(cursor))


def parse_set_catalog(cursor: Cursor) -> UseCatalog:
    """Parses the text after `SET CATALOG`: a name, or a string."""
    return UseCatalog(catalog=read_catalog(cursor))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {("USE",): parse_use, ("SET", "CATALOG"): parse_set_catalog}
)

# First word → the parser for the raw text after it.
RAW_LEADING_WORDS: Mapping[str, Callable[[str], Statement]] = MappingProxyType({"SET": parse_set, "RESET": parse_reset})
