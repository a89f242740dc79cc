"""Time zones of a session, by the names that Spark accepts: a region of the tz database, or an offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?")


def find_zone(name: str) -> tzinfo | None:
    """Returns the time zone with this name; None for one that only Java has."""
    offset = fixed_offset(name)
    if offset is not None:
        return timezone(offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def offset_s(instant: int, zone: tzinfo) -> int:
    """Returns the seconds that `zone` is ahead of UTC at `instant`, in seconds since 1970, up to the year 9999."""
    offset = (_EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def fixed_offset(name: str) -> timedelta | None:
    """Returns how far `+hh:mm[:ss]` (or `GMT-h`, `Z`) is ahead of UTC; None for a region."""
    if name == "Z":
        return timedelta()
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None
    sign, *parts = found.groups()
    hours, minutes, seconds = (int(part or 0) for part in parts)
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -offset if sign == "-" else offset
