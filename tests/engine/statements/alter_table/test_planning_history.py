"""DESCRIBE HISTORY for ALTER TABLE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.conditions import StatementNotSupported
from engine.planning.plans.ddl import AlterPlan
from engine.statements.alter_table.planning_history import compact, operation_of
from engine.statements.alter_table.statement import DropFeature
from tests.engine.planning.lake import PlanningLake


def field(name: str, kind: str, nullable: bool = True, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


HISTORY: dict[str, tuple[str, dict[str, Any]]] = {
    "plain ADD COLUMNS (c INT COMMENT 'x' FIRST, d ARRAY<INT> AFTER a)": (
        "ADD COLUMNS",
        {
            "columns": [
                {"column": field("c", "integer", comment="x"), "position": "FIRST"},
                {"column": field("d", "array"), "position": "AFTER a"},
            ]
        },
    ),
    "nested ADD COLUMN place.land MAP<STRING, INT>": (
        "ADD COLUMNS",
        {"columns": [{"column": field("place.land", "map")}]},
    ),
    "mapped RENAME COLUMN a TO `x.y`": ("RENAME COLUMN", {"oldColumnPath": "a", "newColumnPath": "`x.y`"}),
    "mapped DROP COLUMNS (a, b)": ("DROP COLUMNS", {"columns": ["a", "b"]}),
    "mapped REPLACE COLUMNS (c INT, z DECIMAL(9,2))": (
        "REPLACE COLUMNS",
        {"columns": [field("c", "integer"), field("z", "decimal(9,2)")]},
    ),
    "plain ALTER COLUMN a AFTER b": (
        "CHANGE COLUMN",
        {"column": field("a", "integer"), "position": "AFTER b"},
    ),
    "plain ALTER COLUMN a FIRST": ("CHANGE COLUMN", {"column": field("a", "integer"), "position": "FIRST"}),
    "widening ALTER COLUMN a TYPE BIGINT": ("CHANGE COLUMN", {"column": field("a", "long")}),
    "plain ALTER COLUMN a SET NOT NULL, b COMMENT 'd'": (
        "CHANGE COLUMNS",
        {
            "columns": [
                {"column": field("a", "integer", nullable=False)},
                {"column": field("b", "string", comment="d")},
            ]
        },
    ),
    "plain ADD CONSTRAINT c CHECK (a > 0)": ("ADD CONSTRAINT", {"name": "c", "expr": "a > 0"}),
    "ruled DROP CONSTRAINT POSITIVE": (
        "DROP CONSTRAINT",
        {"name": "POSITIVE", "expr": "amount > 0", "existed": "true"},
    ),
    "plain DROP CONSTRAINT IF EXISTS c": ("DROP CONSTRAINT", {"name": "c", "existed": "false"}),
    "ruled RENAME CONSTRAINT POSITIVE TO small": ("RENAME CONSTRAINT", {"oldName": "POSITIVE", "newName": "small"}),
    "plain SET TBLPROPERTIES ('x' = 'y')": ("SET TBLPROPERTIES", {"properties": {"x": "y"}}),
    "plain UNSET TBLPROPERTIES ('x')": ("UNSET TBLPROPERTIES", {"properties": ["x"], "ifExists": "false"}),
    "plain UNSET TBLPROPERTIES IF EXISTS ('x')": ("UNSET TBLPROPERTIES", {"properties": ["x"], "ifExists": "true"}),
}


@pytest.mark.parametrize("text", HISTORY)
def test_operation_and_parameters(planning: PlanningLake, text: str) -> None:
    """Multiple values are JSON text; keys that only the protocol writes are omitted."""
    plan = planning.plan(AlterPlan, f"ALTER TABLE {text}")
    name, parameters = HISTORY[text]
    assert plan.description.name == name
    assert dict(plan.description.parameters) == {
        key: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        for key, value in parameters.items()
    }


def test_action_without_definition_change_is_rejected(planning: PlanningLake) -> None:
    snapshot = planning.snapshot("plain")
    with pytest.raises(StatementNotSupported, match="ALTER TABLE … DROP FEATURE"):
        operation_of((DropFeature(feature="x"),), snapshot, snapshot.definition)


def test_json_without_blanks() -> None:
    assert compact({"a": [1, "ü"], "b": True}) == '{"a":[1,"ü"],"b":true}'
