"""What no statement may do with a table that has a row filter or column masks, whoever asks.

Queries read it through its policies, and so does all that takes its rows from a query; rows may be added to it. All
else that would tell of what is stored (its files, its history, how many rows an UPDATE found, whether all rows satisfy
a constraint) is refused, and so is a change of a column that a policy uses. Pure, over what was bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from engine.bind.bound import (
    BoundChanges,
    BoundFiles,
    BoundMetadata,
    BoundRelation,
    BoundStatement,
    BoundTable,
    BoundView,
)
from engine.errors.policy_errors import ColumnUsedByPolicy, PolicyForbidsStatement
from engine.statements.alters import (
    AddConstraint,
    AlterColumn,
    AlterTable,
    DropColumns,
    RenameColumn,
    ReplaceColumns,
    TableChange,
)
from engine.statements.copies import CopyInto
from engine.statements.explains import ExplainWrite
from engine.statements.maintenance import AnalyzeTable, GenerateManifest, Optimize, Vacuum
from engine.statements.merges import Merge
from engine.statements.queries import Explain
from engine.statements.shows import DescribeDetail, DescribeHistory, ShowPartitions
from engine.statements.tables import CloneTable
from engine.statements.variables import SingleStatement
from engine.statements.writes import Delete, Insert, TruncateTable, Update

_TELLS_OF_SOURCES = (Explain, ExplainWrite, CloneTable, DescribeDetail, DescribeHistory, ShowPartitions)
_TELLS_OF_TARGET = (Delete, Update, Merge, TruncateTable, ExplainWrite, GenerateManifest, AnalyzeTable, CopyInto)
_NAMES = {
    Explain: "EXPLAIN",
    ExplainWrite: "EXPLAIN",
    CloneTable: "CLONE",
    CopyInto: "COPY INTO",
    DescribeDetail: "DESCRIBE DETAIL",
    DescribeHistory: "DESCRIBE HISTORY",
    ShowPartitions: "SHOW PARTITIONS",
    TruncateTable: "TRUNCATE TABLE",
    GenerateManifest: "GENERATE",
    AnalyzeTable: "ANALYZE TABLE",
    Insert: "INSERT that replaces rows",
}


def ensure_hides(bound: BoundStatement) -> None:
    """Raises `PolicyForbidsStatement`, `ColumnUsedByPolicy`."""
    statement, target = bound.statement, bound.target
    if isinstance(statement, _TELLS_OF_SOURCES):
        for table in _tables(bound.relations):
            _refuse_if_policed(statement, table)
    if not isinstance(target, BoundTable) or not target.policies:
        return
    replaces = isinstance(statement, Insert) and (statement.overwrite or statement.replace is not None)
    if replaces or isinstance(statement, _TELLS_OF_TARGET):
        _refuse_if_policed(statement, target)
    if isinstance(statement, Vacuum) and statement.dry_run:
        raise PolicyForbidsStatement("VACUUM DRY RUN", target.label)
    if isinstance(statement, Optimize) and statement.condition is not None:
        raise PolicyForbidsStatement("OPTIMIZE WHERE", target.label)
    if isinstance(statement, AlterTable):
        for change in statement.changes:
            if isinstance(change, AddConstraint) or (isinstance(change, AlterColumn) and change.nullable is False):
                raise PolicyForbidsStatement("A constraint that stored rows are checked for", target.label)
            for column in _changed(change, target):
                if target.policies.uses(column):
                    raise ColumnUsedByPolicy(column, target.label)


def _refuse_if_policed(statement: SingleStatement, table: BoundTable) -> None:
    if table.policies:
        kind = type(statement)
        raise PolicyForbidsStatement(_NAMES.get(kind, kind.__name__.upper()), table.label)


def _tables(relations: Iterable[BoundRelation]) -> Iterator[BoundTable]:
    """Those that are named, and those that views name."""
    for relation in relations:
        match relation:
            case BoundTable():
                yield relation
            case BoundChanges(table=table) | BoundMetadata(table=table):
                yield table
            case BoundView(relations=inner):
                yield from _tables(inner)
            case BoundFiles():
                pass
            case _:
                assert_never(relation)


def _changed(change: TableChange, table: BoundTable) -> tuple[str, ...]:
    """The columns that would not be what they are."""
    match change:
        case DropColumns(columns=columns):
            return tuple(parts[0] for parts in columns)
        case RenameColumn(parts=parts):
            return (parts[0],)
        case AlterColumn(parts=parts) if change.sql_type is not None:
            return (parts[0],)
        case ReplaceColumns():
            return tuple(table.snapshot.schema.names)
        case _:
            return ()
