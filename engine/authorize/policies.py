"""What no statement may do with a table that has a row filter or column masks, for any principal; and what is not told
of a table that a principal reads through a view alone.

Queries read it through its policies, and so does all that takes its rows from a query; rows may be added to it. DELETE,
UPDATE and MERGE change the rows that a query would find (`engine.plan.reads.policed_target`), unless a rule of the
table would look at a masked column of a row that changes: whether it is satisfied would tell of the value. All else
that would tell of what is stored (its files, its history, whether all rows satisfy a constraint), or would remove rows
that are hidden, is refused, and so is a change of a column that a policy uses.

Who reads a view sees its rows, and not how many files its tables have: without SELECT on all of these there is no
EXPLAIN of it. Where either holds, a statement's progress tells nothing of its work, and what maintains a table does not
answer what it did. Pure, over what was bound.
"""

from __future__ import annotations

from catalog.names import fold
from catalog.privileges import Privilege
from catalog.right_errors import InsufficientPermissions
from catalog.rights import label_of
from engine.authorize.needs import checks_rows
from engine.bind.bound import BoundInBody, BoundRelation, BoundStatement, BoundTable, tables_of
from engine.bind.sight import is_hidden
from engine.errors.policy_errors import ColumnUsedByPolicy, PolicyForbidsStatement
from engine.sql.expressions import parse_any_expression
from engine.statements.alter_table.statement import (
    AddColumns,
    AlterColumn,
    AlterTable,
    DropColumns,
    RenameColumn,
    ReplaceColumns,
    TableChange,
)
from engine.statements.copy_into.statement import CopyInto
from engine.statements.create_table.statement import CloneTable
from engine.statements.describe.statement import DescribeDetail, DescribeHistory
from engine.statements.explain.statement import Explain, ExplainWrite
from engine.statements.insert.statement import Insert
from engine.statements.listings.statement import ListFiles
from engine.statements.maintenance.statement import AnalyzeTable, GenerateManifest, Optimize, Reorg, RepairTable, Vacuum
from engine.statements.merge.statement import Merge
from engine.statements.procedures.statement import (
    Call,
    ExpireSnapshots,
    RemoveOrphanFiles,
    RewriteDataFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    SnapshotTable,
)
from engine.statements.row_changes.statement import TruncateTable, Update
from engine.statements.show.statement import ShowPartitions
from engine.statements.variables.statement import RoadStatement, SingleStatement

_TELLS_OF_SOURCES = (
    Explain,
    ExplainWrite,
    CloneTable,
    SnapshotTable,
    Call,
    DescribeDetail,
    DescribeHistory,
    ListFiles,
    ShowPartitions,
)
_TELLS_OF_TARGET = (TruncateTable, ExplainWrite, GenerateManifest, AnalyzeTable, CopyInto)
_NAMES = {
    Explain: "EXPLAIN",
    ExplainWrite: "EXPLAIN",
    CloneTable: "CLONE",
    SnapshotTable: "CALL snapshot",
    Call: "CALL add_files",
    CopyInto: "COPY INTO",
    DescribeDetail: "DESCRIBE DETAIL",
    DescribeHistory: "DESCRIBE HISTORY",
    ListFiles: "A list of files",
    ShowPartitions: "SHOW PARTITIONS",
    TruncateTable: "TRUNCATE TABLE",
    GenerateManifest: "GENERATE",
    AnalyzeTable: "ANALYZE TABLE",
    Insert: "INSERT that replaces rows",
}


def hides_work(bound: BoundStatement) -> bool:
    """Whether it is not to be told what the statement does on the way to its rows."""
    if isinstance(bound.target, BoundTable) and bound.target.is_policed:
        return True
    return any(table.is_policed or is_hidden(bound.view, table) for table in tables_of(bound.relations))


def hides_texts(bound: BoundStatement) -> bool:
    """Whether the text that runs has bodies of functions in it that read tables."""
    return any(isinstance(relation, BoundInBody) for relation in bound.relations)


def answers_work(statement: RoadStatement) -> bool:
    """Whether all that the statement answers is what it did."""
    return isinstance(statement, Optimize | Reorg | RepairTable | Vacuum | Call)


def ensure_hides(bound: BoundStatement) -> None:
    """Raises `PolicyForbidsStatement`, `ColumnUsedByPolicy`, `InsufficientPermissions`."""
    statement, target = bound.statement, bound.target
    if isinstance(statement, _TELLS_OF_SOURCES):
        for table in tables_of(bound.relations):
            _refuse_if_policed(statement, table)
    if isinstance(statement, Explain | ExplainWrite):
        for relation in bound.relations:
            if not isinstance(relation, BoundTable) and any(
                is_hidden(bound.view, each) for each in tables_of((relation,))
            ):
                raise InsufficientPermissions(Privilege.SELECT.value, f"what {_called(relation)} reads")
    if isinstance(statement, AlterTable) and isinstance(target, BoundTable):
        for column in (column for change in statement.changes for column in _changed(change, target)):
            if target.is_used_by_policy(column):
                raise ColumnUsedByPolicy(column, target.label)
    if not isinstance(target, BoundTable) or not target.is_policed:
        return
    replaces = isinstance(statement, Insert) and (statement.overwrite or statement.replace is not None)
    if replaces or isinstance(statement, _TELLS_OF_TARGET):
        _refuse_if_policed(statement, target)
    if isinstance(statement, Update | Merge):
        _ensure_rules_tell_nothing(statement, target)
    if isinstance(statement, Vacuum | RepairTable) and statement.dry_run:
        name = "VACUUM" if isinstance(statement, Vacuum) else "FSCK REPAIR TABLE"
        raise PolicyForbidsStatement(f"{name} DRY RUN", target.label)
    if isinstance(statement, Optimize | Reorg) and statement.condition is not None:
        name = "OPTIMIZE" if isinstance(statement, Optimize) else "REORG TABLE"
        raise PolicyForbidsStatement(f"{name} WHERE", target.label)
    if isinstance(statement, Call) and _tells(statement):
        raise PolicyForbidsStatement(f"CALL {statement.name}", target.label)
    if isinstance(statement, AlterTable) and any(map(checks_rows, statement.changes)):
        raise PolicyForbidsStatement("A constraint that stored rows are checked for", target.label)


def _tells(call: Call) -> bool:
    """Whether a procedure tells of files or the history, or takes rows away or brings them back; others rearrange."""
    match call.procedure:
        case ExpireSnapshots() | RewriteManifests():
            return False
        case RemoveOrphanFiles(dry_run=dry_run):
            return dry_run
        case RewriteDataFiles(where=where) | RewritePositionDeleteFiles(where=where):
            return where is not None
        case _:
            return True


def _called(relation: BoundRelation) -> str:
    return label_of(relation.called) if isinstance(relation, BoundInBody) else relation.label


def _refuse_if_policed(statement: SingleStatement, table: BoundTable) -> None:
    if table.is_policed:
        kind = type(statement)
        raise PolicyForbidsStatement(_NAMES.get(kind, kind.__name__.upper()), table.label)


def _ensure_rules_tell_nothing(statement: Update | Merge, table: BoundTable) -> None:
    """Constraints and generated columns are evaluated on a changed row with the stored values of other columns."""
    masked, rules = {fold(mask.column) for mask in table.policies.masks}, table.snapshot.rules
    texts = [*(constraint.expression for constraint in rules.constraints), *rules.generations.values()]
    if masked and any(fold(path[0]) in masked for text in texts for path in parse_any_expression(text).columns):
        what = f"{type(statement).__name__.upper()}, where a constraint or generated column uses a masked column,"
        raise PolicyForbidsStatement(what, table.label)


def _changed(change: TableChange, table: BoundTable) -> tuple[str, ...]:
    """The columns that would not be what they are."""
    match change:
        case DropColumns(columns=columns):
            return tuple(parts[0] for parts in columns)
        case RenameColumn(parts=parts):
            return (parts[0],)
        case AlterColumn(parts=parts) if change.sql_type is not None:
            return (parts[0],)
        case AddColumns(columns=columns):
            return tuple(column.parts[0] for column in columns if len(column.parts) > 1)
        case ReplaceColumns():
            return tuple(table.snapshot.schema.names)
        case _:
            return ()
