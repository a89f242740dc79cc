"""The row requirements in a table's log, as text: CHECK constraints and column invariants.

A CHECK constraint is a property `delta.constraints.<name>`. An invariant is stored in a column's metadata as
`{"expression": {"expression": "x > 3"}}`. Both are SQL; a row satisfies one if it evaluates to true, and null is not
true.

Protocol: "CHECK Constraints", "Column Invariants".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from catalog.conditions import MalformedLogEntry
from engine.delta.spec.properties import CONSTRAINT_PREFIX, Configuration
from engine.tables.column_metadata import read_settings
from engine.tables.config import Constraint
from engine.types.schema import StructType, walk_fields

INVARIANTS = "delta.invariants"
# Properties with the Spark settings captured with a CHECK constraint of that name, as JSON; not in the protocol.
CONSTRAINT_SETTINGS_PREFIX = "gateway.constraintSettings."


def check_constraints(configuration: Configuration) -> list[Constraint]:
    """Returns CHECK constraints, sorted by name."""
    found = (
        Constraint(key.removeprefix(CONSTRAINT_PREFIX), text, _captured_with(configuration, key))
        for key, text in configuration.items()
        if key.startswith(CONSTRAINT_PREFIX) and text is not None
    )
    return sorted(found, key=lambda constraint: constraint.name)


def _captured_with(configuration: Configuration, key: str) -> tuple[tuple[str, str], ...]:
    name = key.removeprefix(CONSTRAINT_PREFIX).lower()
    return read_settings(configuration.get(f"{CONSTRAINT_SETTINGS_PREFIX}{name}"))


def find_constraint(configuration: Configuration, name: str) -> str | None:
    """Returns the key of the constraint that `name` refers to in a statement."""
    # Constraint names ignore case in delta-spark; older writers stored them as written.
    wanted = f"{CONSTRAINT_PREFIX}{name}".lower()
    return next((key for key in configuration if key.lower() == wanted), None)


def column_invariants(schema: StructType) -> Iterator[Constraint]:
    """Yields invariants in column order. Raises `MalformedLogEntry`."""
    for path, column in walk_fields(schema):
        text = column.metadata.get(INVARIANTS)
        if text is not None:
            yield _invariant(".".join(path), text)


def _invariant(column: str, text: object) -> Constraint:
    try:
        # "Column Invariants": the value is a JSON string; some writers store the object
        # itself.
        value = json.loads(text) if isinstance(text, str) else text
        expression = value["expression"]["expression"] if isinstance(value, Mapping) else None
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedLogEntry(INVARIANTS, f"the invariant of {column} is no expression") from error
    if not isinstance(expression, str):
        raise MalformedLogEntry(INVARIANTS, f"the invariant of {column} is no expression")
    return Constraint(f"EXPRESSION({expression})", expression)
