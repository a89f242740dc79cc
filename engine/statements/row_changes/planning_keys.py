"""`column IN (query)` in the condition of a DELETE or UPDATE: the query's values tell which files can have such rows.

The query may run by itself then, before the rows are looked for (`engine.execution.writes.dml.queried_keys`): what is
planned here is its text alone, and the text of the condition with a scan of its rows in its place. Whether it can run
alone only Spark knows; a query that refers to the table's row cannot.
"""

from __future__ import annotations

from catalog.names import fold
from engine.binding.bound import BoundRelation, BoundTable
from engine.planning.plans.writes import QueriedKey
from engine.planning.reads.target_reads import TargetReading, bitmaps, place_columns
from engine.planning.rules.assignments import own_path
from engine.planning.rules.matched_columns import fields_down, is_compared
from engine.sql.expressions import queried_columns
from engine.sql.query.values import Span
from engine.statements.row_changes.statement import Delete, Update

_FUNCTIONS = frozenset(
    {"current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp"}
    | {"current_user", "localtime", "localtimestamp", "session_user", "user", "grouping__id"}
)
"""What such a name means in a query that runs alone may be a column of the table in the condition."""


def queried_key(
    table: BoundTable, reading: TargetReading, statement: Delete | Update, relations: tuple[BoundRelation, ...]
) -> QueriedKey | None:
    """For the first such column whose values can be compared with what files say of themselves."""
    query, schema = statement.rows, table.snapshot.schema
    if any(fold(name) in _FUNCTIONS for name in schema.names):
        return None
    if query.query.inlined:  # the condition has the bodies of functions in it, and other places than the query
        return None
    for path, span in queried_columns(statement.condition) if statement.condition is not None else ():
        fields = fields_down(schema, own_path(table, schema, path, statement.alias))
        if not fields or not is_compared(fields[-1], fields[-1]):
            continue
        (where,) = query.values
        start, end = where.start + 1 + span.start, where.start + 1 + span.end
        kept = reading.names.new("kept")
        own = ((Span(start, end), f"(SELECT * FROM {kept})"),)
        places = reading.spliced(query, relations, place_columns(reading.target), instead=own)
        around = (Span(query.items.start, start + 1), "* FROM ("), (Span(end - 1, len(query.query.text)), "\n)")
        return QueriedKey(
            path=tuple(field.name for field in fields),
            field=fields[-1],
            query=reading.beside_target(reading.spliced(query, relations, "", instead=around)),
            relation=kept,
            places=reading.read_places(bitmaps(places), is_once=False),
        )
    return None
