"""Runs queries with the gateway's rules on, off, and with single rules off, and compares the answers as multisets."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.settings import RULES, rule_setting
from tests.rules.queries import Query

NAMES = tuple(name for name, _ in RULES)
RELATIVE_ERROR_MAX = 1e-9
_USER = Identity("rules")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A sorted answer, or the condition of an error, and the rules that changed the plan."""

    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    error: str | None
    rules: Mapping[str, int]


class Comparison:
    """One session for each choice of rules, over one lake."""

    def __init__(self, engine: LakeEngine) -> None:
        self._engine = engine
        self._sessions: dict[frozenset[str], LakeSession] = {}
        # How many queries each rule changed.
        self.fired = dict.fromkeys(NAMES, 0)
        self.errors = 0

    def differences(self, query: Query) -> list[str]:
        """Runs a query in all modes, and describes each answer that differs from the one without rules.

        A rule that did not change the plan would not be missed, so only the others are turned off by themselves. The
        query runs twice with all rules, so that caches may answer it.
        """
        expected = self._run(query, frozenset(NAMES))
        self.errors += expected.error is not None
        found = {"all rules on": self._run(query, frozenset()), "again": self._run(query, frozenset())}
        fired = [name for name in NAMES if any(name in outcome.rules for outcome in found.values())]
        for name in fired:
            self.fired[name] += 1
            found[f"{name} off"] = self._run(query, frozenset([name]))
        return [
            f"{mode}: {difference}"
            for mode, outcome in found.items()
            if (difference := _difference(expected, outcome, is_inexact=query.is_inexact))
        ]

    def _run(self, query: Query, off: frozenset[str]) -> Outcome:
        session = self._session(off)
        request = StatementRequest(identity=_USER)
        try:
            result = session.execute(query.text, request)
            try:
                table = pa.Table.from_batches(result.batches(), result.schema)
            finally:
                result.close()
        except SqlError as error:
            return Outcome((), (), error.condition, {})
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        types = tuple(map(str, table.schema.types))
        return Outcome(types, tuple(sorted(rows, key=_order)), None, request.profile.rules)

    def _session(self, off: frozenset[str]) -> LakeSession:
        if off not in self._sessions:
            session = self._engine.open_session(_USER, settings={}, catalog=None, schema=None)
            for name in off:
                session.execute(f"SET {rule_setting(name)} = false", StatementRequest(identity=_USER)).close()
            self._sessions[off] = session
        return self._sessions[off]


def _order(row: Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sorts by exact cells first, since inexact ones may be in another order."""
    cells = tuple(row)
    exact = tuple("" if isinstance(cell, float) else repr(cell) for cell in cells)
    return exact, tuple(f"{cell:.6g}" if isinstance(cell, float) else "" for cell in cells)


def _difference(expected: Outcome, found: Outcome, *, is_inexact: bool) -> str | None:
    if expected.error != found.error:
        return f"error {found.error} instead of {expected.error}"
    if expected.types != found.types:
        return f"types {found.types} instead of {expected.types}"
    if len(expected.rows) != len(found.rows):
        return f"{len(found.rows)} rows instead of {len(expected.rows)}"
    for left, right in zip(expected.rows, found.rows, strict=True):
        if not all(_are_equal(one, other, is_inexact=is_inexact) for one, other in zip(left, right, strict=True)):
            return f"{right} instead of {left}"
    return None


def _are_equal(left: Any, right: Any, *, is_inexact: bool) -> bool:
    """Compares cells bit by bit, except for inexact floating point numbers."""
    if not isinstance(left, float) or not isinstance(right, float):
        return type(left) is type(right) and bool(left == right)
    if is_inexact and math.isfinite(left) and math.isfinite(right):
        return math.isclose(left, right, rel_tol=RELATIVE_ERROR_MAX, abs_tol=RELATIVE_ERROR_MAX)
    return struct.pack("d", left) == struct.pack("d", right)
