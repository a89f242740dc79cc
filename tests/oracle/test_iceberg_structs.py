"""The Iceberg runtime assigns struct fields as `tests/engine/test_struct_fields.py` expects for us."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_struct_fields import ASSIGNED, INSERTED, UNLIKE
from tests.oracle.conftest import ask_iceberg_spark

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(3600)]

# Statements that its Spark does not have for these tables.
_LACKING = ("SCHEMA EVOLUTION", "REPLACE USING", "REPLACE ON", "FROM range(1) INSERT", "s = (SELECT")


def _steps(table: str, type_: str, old: str | None, statement: str) -> list[str]:
    values = "map_entries(s)" if type_.startswith("MAP") else "s"
    return [
        f"CREATE TABLE {table} (id INT, s {type_}) USING iceberg",
        f"INSERT INTO {table} VALUES (1, {old})" if old else f"SELECT * FROM {table}",
        re.sub(r"\b(INTO|OVERWRITE) t\b", rf"\1 {table}", statement).replace("{t}", table),
        f"SELECT id, CAST({values} AS STRING) FROM {table} ORDER BY id",
    ]


def _values(answer: dict[str, Any]) -> str:
    """Returns JSON as in the case tables: structs are lists."""
    texts = [row[1] or "null" for row in answer["rows"]]
    return json.dumps([json.loads(text.replace("{", "[").replace("}", "]")) for text in texts])


def _answers(cases: list[tuple[str, str | None, str]], folder: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Returns each statement's outcome, and the table's rows after it."""
    steps = [step for at, case in enumerate(cases) for step in _steps(f"c.default.t{at}", *case)]
    found = ask_iceberg_spark(steps, folder)
    return list(zip(found[2::4], found[3::4], strict=True))


def test_runtime_assigns_and_inserts_by_the_same_names(tmp_path: Path) -> None:
    assigned = [(type_, old, statement, values) for type_, old, statement, values in ASSIGNED]
    inserted = [(type_, None, statement, values) for type_, statement, _, values in INSERTED]
    cases = [case for case in (*assigned, *inserted) if not any(part in case[2] for part in _LACKING)]
    found = _answers([case[:3] for case in cases], tmp_path)
    differing = [
        (case[2], case[3], described, rows)
        for case, (described, rows) in zip(cases, found, strict=True)
        if "error" in described or _values(rows) != case[3]
    ]
    assert not differing


def test_runtime_rejects_the_same_structs(tmp_path: Path) -> None:
    found = _answers([(type_, "NULL", statement) for type_, statement, _, _ in UNLIKE], tmp_path)
    differing = [
        (case[1], described)
        for case, (described, _) in zip(UNLIKE, found, strict=True)
        if f"[{case[2]}]" not in described.get("error", "")
    ]
    assert not differing
