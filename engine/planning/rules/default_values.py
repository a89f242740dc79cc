"""DEFAULT in the place of a value: what the column has when the statement does not give it.

For most columns that is a constant, which takes the word's place in the text. The values of identity columns and of
generated ones are made where the rows are written, so such a column is taken out of what the statement gives: the query
is read without it. Where only some rows of VALUES say DEFAULT for it, rows that say it for the same columns are one
part, with its number as a last value; each part is written by itself, in one version with the others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from catalog.conditions import StatementNotSupported
from engine.enforcement.columns import match_columns
from engine.enforcement.defaults import default_text
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.sql.query.source_text import joined
from engine.sql.query.splice import Edit
from engine.sql.query.values import Span
from engine.statements.insert.statement import Insert
from engine.tables.column_metadata import is_identity
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenRows:
    """Rows of a query of `width` columns, of which `kept` are given, others are left to the table; None: all are given.

    `number` is in the query's last column for these rows; None: all rows.
    """

    rows: WritePlan
    kept: tuple[int, ...] | None = None
    width: int = 0
    number: int | None = None

    def of(self, source: ReadPlan) -> ReadPlan:
        """Of the query with the edits: these rows, without the columns that are left to the table."""
        if self.kept is None:
            return source
        names = ", ".join(f"c{at}" for at in range(self.width))
        kept = ", ".join(f"c{at}" for at in self.kept)
        where = "" if self.number is None else f" WHERE c{self.width - 1} = {self.number}"
        text = joined((f"SELECT {kept} FROM (", source.text, f"\n) AS given({names}){where}"))
        return replace(source, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultValues:
    """The `parts` of the rows, one at least, and the `edits` of the query's text."""

    parts: tuple[GivenRows, ...]
    edits: list[Edit]


def find_defaults(rows: WritePlan, statement: Insert) -> DefaultValues:
    """Raises `StatementNotSupported` for what cannot be told apart."""
    markers = statement.defaults.markers
    if not markers:
        return DefaultValues(parts=(GivenRows(rows=rows),), edits=[])
    if statement.by_name:
        raise StatementNotSupported("DEFAULT in an INSERT … BY NAME")
    targets = match_columns(rows).target_columns
    edits: list[Edit] = []
    left_out: dict[int, set[int]] = {}
    """Column -> the rows that leave it to the table."""
    for marker in markers:
        if marker.column >= len(targets):  # too many values, which Spark says
            continue
        column = targets[marker.column]
        if _is_made_with_rows(rows, column):
            left_out.setdefault(marker.column, set()).add(marker.row)
        edits.append((marker.span, _text(rows, column)))
    if not left_out:
        return DefaultValues(parts=(GivenRows(rows=rows),), edits=edits)
    num_rows, ends = statement.defaults.rows, statement.defaults.row_ends
    partly = [targets[at].name for at, of_rows in left_out.items() if len(of_rows) != num_rows]
    if not partly:
        return DefaultValues(parts=(_part(rows, targets, left_out.keys()),), edits=edits)
    if len(ends) != num_rows:
        raise StatementNotSupported(
            f"DEFAULT for the column {partly[0]} in some of the rows, and values in others, but in VALUES alone,"
        )
    by_row = [frozenset(at for at, of_rows in left_out.items() if row in of_rows) for row in range(num_rows)]
    numbers = {columns: number for number, columns in enumerate(dict.fromkeys(by_row))}
    edits += [(Span(end, end), f", {numbers[columns]}") for end, columns in zip(ends, by_row, strict=True)]
    parts = tuple(_part(rows, targets, columns, number) for columns, number in numbers.items())
    return DefaultValues(parts=parts, edits=edits)


def _part(
    rows: WritePlan, targets: Sequence[StructField], left_out: Collection[int], number: int | None = None
) -> GivenRows:
    kept = tuple(at for at in range(len(targets)) if at not in left_out)
    if not kept:
        raise StatementNotSupported("DEFAULT for all columns, which the table makes itself,")
    return GivenRows(
        rows=replace(rows, insert_columns=tuple(targets[at].name for at in kept)),
        kept=kept,
        width=len(targets) + (number is not None),
        number=number,
    )


def _is_made_with_rows(rows: WritePlan, column: StructField) -> bool:
    return is_identity(column) or column.name in rows.config.generations


def _text(rows: WritePlan, column: StructField) -> str:
    is_made = _is_made_with_rows(rows, column)
    return "NULL" if is_made else f"CAST({default_text(column)} AS {ddl_type(column.data_type)})"
