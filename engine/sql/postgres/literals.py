"""Constants of PostgreSQL in Spark's SQL: intervals, arrays, patterns and escaped strings."""

from __future__ import annotations

import re
from decimal import Decimal

from engine.sql.postgres.functions import DATE_FORMATS

_PART = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)")
_CLOCK = re.compile(r"\s*([-+]?)(\d+):(\d+)(?::(\d+(?:\.\d+)?))?\s*")
_MONTHS = {"year": 12, "yr": 12, "y": 12, "decade": 120, "century": 1200, "month": 1, "mon": 1, "quarter": 3}
_SECONDS = {"hour": 3600, "hr": 3600, "h": 3600, "minute": 60, "min": 60, "m": 60, "second": 1, "sec": 1, "s": 1}
_DAYS = {"day": 1, "d": 1, "week": 7, "w": 7}
_CLASSES = {
    "alpha": "\\p{Alpha}",
    "digit": "\\d",
    "alnum": "\\p{Alnum}",
    "space": "\\s",
    "upper": "\\p{Upper}",
    "lower": "\\p{Lower}",
    "punct": "\\p{Punct}",
    "xdigit": "\\p{XDigit}",
}


def interval_sql(text: str) -> str | None:
    """Returns an interval in Spark's SQL; None if the text is none of the usual forms."""
    months, days, seconds, rest = Decimal(0), Decimal(0), Decimal(0), text.strip()
    is_ago = rest.lower().endswith(" ago")
    rest = rest[:-4] if is_ago else rest
    if not rest:
        return None
    while rest.strip():
        if (clock := _CLOCK.match(rest)) is not None:
            value = int(clock[2]) * 3600 + int(clock[3]) * 60 + Decimal(clock[4] or 0)
            seconds += -value if clock[1] == "-" else value
            rest = rest[clock.end() :]
            continue
        part = _PART.match(rest)
        if part is None:
            return None
        value, unit = Decimal(part[1]), _unit(part[2])
        if unit in _MONTHS:
            months += value * _MONTHS[unit]
        elif unit in _DAYS:
            days += value * _DAYS[unit]
        elif unit in _SECONDS:
            seconds += value * _SECONDS[unit]
        else:
            return None
        rest = rest[part.end() :]
    if months != int(months):
        return None
    seconds += (days - int(days)) * 86400
    sign = -1 if is_ago else 1
    return _interval(sign * int(months), sign * int(days), sign * seconds)


def _unit(word: str) -> str:
    word = word.lower()
    return word if word in ("s", "h", "d", "m", "y", "w") else word.removesuffix("s").replace("centurie", "century")


def _interval(months: int, days: int, seconds: Decimal) -> str:
    if months and not days and not seconds:
        return f"make_ym_interval(0, {months})"
    if not months:
        return f"make_dt_interval({days}, 0, 0, {seconds})"
    return f"make_interval(0, {months}, 0, {days}, 0, 0, {seconds})"


def java_pattern(pattern: str) -> str:
    """Returns a regular expression with Java's classes and word boundaries."""
    pattern = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)
    return re.sub(r"\\([mMyY])", lambda found: "\\B" if found[1] == "Y" else "\\b", pattern)


def similar_pattern(pattern: str) -> str:
    """Returns the regular expression for the pattern of SIMILAR TO."""
    made = {"%": ".*", "_": ".", ".": "\\.", "^": "\\^", "$": "\\$"}
    return f"(?s)^(?:{''.join(made.get(char, char) for char in pattern)})$"


_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^{},"\\]*[^{},"\\\s]))\s*(,|\Z)', re.DOTALL)


def array_members(text: str) -> list[str | None] | None:
    """Returns the elements in the text of an array with one dimension; None for another text."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    inner, place = text[1:-1], 0
    members: list[str | None] = []
    while place < len(inner) or (members and inner.endswith(",")):
        found = _ELEMENT.match(inner, place)
        if found is None:
            return None
        quoted, plain, place = found[1], found[2], found.end()
        if quoted is not None:
            members.append(re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
        else:
            members.append(None if plain.upper() == "NULL" else plain)
        if not found[3]:
            break
    return members


def date_pattern(text: str) -> str | None:
    """Returns Java's pattern for a date format; None if it has parts that Java does not have, or is a number's."""
    made, place = "", 0
    while place < len(text):
        for name, pattern in DATE_FORMATS:
            if text.startswith(name, place):
                made += pattern
                place += len(name)
                break
        else:
            char = text[place]
            if char == '"':
                end = text.find('"', place + 1)
                if end < 0:
                    return None
                made += f"'{text[place + 1 : end]}'"
                place = end + 1
                continue
            if char.isalnum():
                return None
            made += char
            place += 1
    return made
