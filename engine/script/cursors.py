"""The cursors of a script: a query each, and its rows while it is open.

OPEN runs the query to its end, so a cursor sees the versions of that moment whatever is written later; the query sees
the variables of the block that declares it. FETCH assigns the next row as SET would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.conditions import CursorAlreadyOpen, CursorNoMoreRows, CursorNotOpen
from engine.runtime.parameters import Parameter
from engine.runtime.variables import RowValues
from engine.script.immediate import argument_values, assign_row, parameters_for, values_of
from engine.script.road import Road, Scopes
from engine.sql.query.values import Query
from engine.statements.scripting.statement import FetchCursor, OpenCursor
from engine.statements.variables.statement import EvaluateQuery


@dataclass(slots=True, eq=False)
class OpenableCursor:
    """`rows` is None while it is closed; `next_row` is the index of the row that FETCH assigns."""

    name: str
    query: Query
    rows: RowValues | None = None
    next_row: int = 0

    def open(
        self, statement: OpenCursor, road: Road, scopes: Scopes, own_scopes: Scopes, parameters: Sequence[Parameter]
    ) -> None:
        """`scopes` are those of OPEN, which its arguments see; `own_scopes` those of the declaration."""
        if self.rows is not None:
            raise CursorAlreadyOpen(self.name)
        given = parameters
        if statement.arguments_row is not None:
            values = argument_values(statement.arguments_row, road, scopes, parameters)
            given = parameters_for(self.query.text, statement.arguments, values)
        self.rows, self.next_row = values_of(road.take(EvaluateQuery(query=self.query), own_scopes, given)), 0

    def fetch(self, statement: FetchCursor, road: Road, scopes: Scopes) -> Scopes:
        """The scopes with the next row assigned."""
        if self.rows is None:
            raise CursorNotOpen(self.name)
        if self.next_row >= len(self.rows.rows):
            raise CursorNoMoreRows(self.name)
        row = self.rows.row(self.next_row)
        self.next_row += 1
        return assign_row(statement.targets, row, road, scopes).scopes

    def close(self) -> None:
        if self.rows is None:
            raise CursorNotOpen(self.name)
        self.rows = None
