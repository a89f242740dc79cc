"""Plans EXPLAIN for a write: the query that it would run, the files that the query reads, and how they change.

For DELETE, UPDATE or MERGE that is the query that finds the rows; the files remaining after pruning may change. The
output describes how they would change, not how many: only the rows determine that.
"""

from __future__ import annotations

from typing import assert_never

from engine.binding.bound import BoundTable
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.reads import ExplainPlan
from engine.planning.plans.write_plan import LiteralRows
from engine.planning.plans.writes import (
    DeletePlan,
    InsertPlan,
    KeepAll,
    MergePlan,
    ReplaceAll,
    ReplaceEqual,
    ReplaceMatching,
    ReplaceRelated,
    ReplaceRows,
    ReplaceTouched,
    ReplaceWholeFiles,
    UpdatePlan,
)
from engine.statements.explain.statement import ExplainWrite
from engine.statements.insert.planning import plan_insert
from engine.statements.insert.statement import Insert
from engine.statements.merge.planning import plan_merge
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.planning import plan_delete, plan_update
from engine.statements.row_changes.statement import Delete, Update
from engine.tables.config import Capability


def explain_write(analyzed: AnalyzedStatement, statement: ExplainWrite) -> ExplainPlan:
    """Plans EXPLAIN. Raises the statement's own planning errors."""
    match statement.inner:
        case Insert() as insert:
            plan = plan_insert(analyzed, insert)
            note = f"{plan.table.label}: {_inserts(plan)}{_literals(plan)}"
            return ExplainPlan(mode=statement.mode, read=plan.source, note=note)
        case Delete() as delete:
            found = plan_delete(analyzed.bound, delete)
            return ExplainPlan(
                mode=statement.mode, read=found.places.read, note=f"{found.table.label}: {_deletes(found)}"
            )
        case Update() as update:
            changed = plan_update(analyzed.bound, update)
            return ExplainPlan(
                mode=statement.mode, read=changed.places.read, note=f"{changed.table.label}: {_updates(changed)}"
            )
        case Merge() as merge:
            merged = plan_merge(analyzed, merge)
            return ExplainPlan(
                mode=statement.mode, read=merged.places.read, note=f"{merged.table.label}: {_merges(merged)}"
            )
        case _:
            assert_never(statement.inner)


def _inserts(plan: InsertPlan) -> str:
    table, num_files = plan.table, plan.table.snapshot.num_files
    match plan.replacement:
        case KeepAll():
            return "new files are added, no file is removed"
        case ReplaceAll():
            return f"new files are added, all {num_files} files are removed"
        case ReplaceMatching(shown=shown):
            return f"new files are added, the files of the partitions {shown} are removed"
        case ReplaceTouched():
            return "new files are added, the files of the partitions that get new rows are removed"
        case ReplaceRows(shown=shown):
            return f"new files are added; of the rows {shown}, {_removal(table)}"
        case ReplaceEqual(columns=columns):
            return f"new files are added; of the rows that equal a new one in {', '.join(columns)}, {_removal(table)}"
        case ReplaceRelated(shown=shown):
            return f"new files are added; of the rows that match a new one by {shown}, {_removal(table)}"
        case _:
            assert_never(plan.replacement)


def _literals(plan: InsertPlan) -> str:
    """Describes literal rows; Spark finds them during analysis: the query's plan is then a LocalTableScan."""
    return "; literals are written without a job" if isinstance(plan.rows.arrangement, LiteralRows) else ""


def _deletes(plan: DeletePlan) -> str:
    match plan.whole:
        case ReplaceAll():
            return f"all {plan.table.snapshot.num_files} files are removed, by the log alone if it has their row counts"
        case ReplaceMatching(shown=shown):
            return f"the files of the partitions {shown} are removed, by the log alone if it has their row counts"
        case ReplaceWholeFiles(shown=shown):
            rows = _removal(plan.table)
            return f"files are removed if each has rows {shown} alone, or none; else, of these rows, {rows}"
        case None:
            return f"of the rows {plan.shown}, {_removal(plan.table)}"
        case _:
            assert_never(plan.whole)


def _updates(plan: UpdatePlan) -> str:
    if plan.rewritten is not None:
        return "files with rows that change are written again, with the new values and the rows that stay"
    return f"new values are in new files; of the rows that change, {_removal(plan.table, Capability.VECTORS_ON_UPDATE)}"


def _merges(plan: MergePlan) -> str:
    """Describes a merge; the source has no files yet if its query must run first."""
    found = ["the source is read first"] if plan.source_query is not None else []
    if plan.keys:
        columns = ", ".join(dict.fromkeys(".".join(key.path) for key in plan.keys))
        found.append(f"files without any of its values of {columns} are not read")
    if plan.updates or plan.inserts:
        found.append("new rows and new values are in new files")
    leaves = plan.updates or plan.deletes
    merged = _removal(plan.table, Capability.VECTORS_ON_MERGE)
    found.append(f"of the rows that change or go, {merged}" if leaves else "no file is removed")
    return "; ".join(found)


def _removal(table: BoundTable, feature: Capability = Capability.VECTORS_ON_DELETE) -> str:
    """Describes how rows are removed from their files."""
    if table.snapshot.table_config.has(feature):
        return "those in files with other rows are marked in deletion vectors, files of nothing else are removed"
    return "files with other rows are written again without them, files of nothing else are removed"
