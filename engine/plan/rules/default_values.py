"""DEFAULT in the place of a value: what the column has when the statement does not give it.

For most columns that is a constant, which takes the word's place in the text. The values of identity columns and of
generated ones are made where the rows are written, so such a column is taken out of what the statement gives: the query
is read without it. That is only right where every row says DEFAULT for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.delta.definition.identity_metadata import is_identity
from engine.enforce.columns import match_columns
from engine.enforce.defaults import default_text
from engine.errors.statement_errors import StatementNotSupported
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.sql.query.splice import Edit
from engine.statements.writes import Insert
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultValues:
    """`rows` without the columns that are left to the table, and the `edits` of the query's text."""

    rows: WritePlan
    edits: list[Edit]
    kept: tuple[int, ...] | None = None
    """Which of the query's `width` columns are given; None: all."""
    width: int = 0

    def without_defaults(self, source: ReadPlan) -> ReadPlan:
        """The query (with the edits) without the columns that it leaves to the table."""
        if self.kept is None:
            return source
        names = ", ".join(f"c{at}" for at in range(self.width))
        kept = ", ".join(f"c{at}" for at in self.kept)
        return replace(source, text=f"SELECT {kept} FROM ({source.text}\n) AS given({names})")


def find_defaults(rows: WritePlan, statement: Insert) -> DefaultValues:
    """Raises `StatementNotSupported` for what cannot be told apart."""
    markers = statement.defaults.markers
    if not markers:
        return DefaultValues(rows=rows, edits=[])
    if statement.by_name:
        raise StatementNotSupported("DEFAULT in an INSERT … BY NAME")
    targets = match_columns(rows).target_columns
    edits: list[Edit] = []
    left_out: dict[int, int] = {}
    for marker in markers:
        if marker.column >= len(targets):  # too many values, which Spark says
            continue
        column = targets[marker.column]
        if _is_made_with_rows(rows, column):
            left_out[marker.column] = left_out.get(marker.column, 0) + 1
        edits.append((marker.span, _text(rows, column)))
    for at, count in left_out.items():
        if count != statement.defaults.rows:
            raise StatementNotSupported(
                f"DEFAULT for the column {targets[at].name} in some of the rows, and values in others,"
            )
    if not left_out:
        return DefaultValues(rows=rows, edits=edits)
    kept = tuple(at for at in range(len(targets)) if at not in left_out)
    if not kept:
        raise StatementNotSupported("DEFAULT for all columns, which the table makes itself,")
    insert_columns = tuple(targets[at].name for at in kept)
    return DefaultValues(rows=replace(rows, insert_columns=insert_columns), edits=edits, kept=kept, width=len(targets))


def _is_made_with_rows(rows: WritePlan, column: StructField) -> bool:
    return is_identity(column) or column.name in rows.config.generations


def _text(rows: WritePlan, column: StructField) -> str:
    is_made = _is_made_with_rows(rows, column)
    return "NULL" if is_made else f"CAST({default_text(column)} AS {ddl_type(column.data_type)})"
