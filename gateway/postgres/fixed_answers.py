"""Queries that the front end answers from the connection: version(), set_config() and others that drivers send at their
start.

Only a SELECT whose items are all such calls, without a FROM clause, is answered here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.postgres.types import BOOL, INT4, NAME, TEXT, VOID, Column, PgType

_CALL = re.compile(
    r"""(?:pg_catalog\s*\.\s*)?(?P<name>[a-z_]+)\s*(?:\(\s*(?P<arguments>(?:'(?:[^']|'')*'|true|false|\s|,)*)\))?
    (?:\s+(?:as\s+)?"?(?P<alias>[A-Za-z_]\w*)"?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_SELECT = re.compile(r"\s*select\s+(?P<items>.+?)\s*;?\s*", re.IGNORECASE | re.DOTALL)
_TEXT_MAX = 2_000
_ARGUMENT = re.compile(r"'((?:[^']|'')*)'|(true|false)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A call in a SELECT list, and the name of its column."""

    name: str
    arguments: tuple[str, ...]
    label: str


# The type of a call's value, and its value for the arguments.
Answers = Mapping[str, tuple[PgType, Callable[[tuple[str, ...]], object]]]


def parse_calls(text: str, known: Answers) -> list[Call] | None:
    """Returns the calls of a text that only selects known ones; None for another text."""
    if len(text) > _TEXT_MAX or (select := _SELECT.fullmatch(text)) is None:
        return None
    items, at, calls = select["items"], 0, list[Call]()
    while (found := _CALL.match(items, at)) is not None:
        name = found["name"].lower()
        has_call = found["arguments"] is not None or name in ("current_catalog", "current_schema")
        if not has_call or name not in known:
            return None
        arguments = tuple(
            value.replace("''", "'") if value or not word else word.lower()
            for value, word in _ARGUMENT.findall(found["arguments"] or "")
        )
        calls.append(Call(name, arguments, found["alias"] or name))
        at = found.end()
        rest = items[at:].lstrip()
        if not rest:
            return calls
        if not rest.startswith(","):
            return None
        at = len(items) - len(rest) + 1
        at += len(items[at:]) - len(items[at:].lstrip())
    return None


def columns_of_calls(calls: Sequence[Call], known: Answers) -> list[Column]:
    """Returns the columns of the result, labeled as the query has them. `known` has the calls' types."""
    return [Column(call.label, known[call.name][0]) for call in calls]


FIXED_TYPES: Mapping[str, PgType] = {
    "version": TEXT,
    "current_schema": NAME,
    "current_database": NAME,
    "current_catalog": NAME,
    "pg_backend_pid": INT4,
    "pg_is_in_recovery": BOOL,
    "pg_advisory_unlock_all": VOID,
    "set_config": TEXT,
    "current_setting": TEXT,
}
