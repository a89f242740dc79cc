"""`FROM source INSERT INTO a … INSERT INTO b …`: one statement, with a version in each table.

Delta has no multi-table commit. So all INSERTs are planned before the first writes, on one version of each table that
they read, and they commit one after the other, as in Spark. If a later one fails, the error names the tables that
already have their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catalog.conditions import InsertsStopped, StatementCancelled, StatementTimedOut, UnsupportedClause
from catalog.errors import SqlError
from engine.binding.bound import Outcome, counted
from engine.runtime.parameters import Parameter
from engine.statements.insert.statement import Insert


def ensure_no_positions(parameters: Sequence[Parameter]) -> None:
    """Rejects positional parameters: each INSERT would count them from the first."""
    if any(parameter.name is None for parameter in parameters):
        raise UnsupportedClause("A parameter '?' in several INSERTs", "Give the parameter a name, as in :start.")


def run_in_order(inserts: Sequence[Insert], runs: Sequence[Callable[[], Outcome]]) -> Outcome:
    """Runs the INSERTs in order; returns the total row count."""
    rows = 0
    for index, run in enumerate(runs):
        try:
            rows += run().result.rows_modified or 0
        except (StatementCancelled, StatementTimedOut):
            raise
        except SqlError as error:
            if index == 0:
                raise
            done = ", ".join(".".join(insert.table_parts) for insert in inserts[:index])
            raise InsertsStopped(done, ".".join(inserts[index].table_parts), str(error)) from error
    return counted(rows)
