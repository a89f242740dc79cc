"""Plans CREATE TABLE … CLONE and CREATE TABLE … LIKE.

A clone has the rows and the definition of another table at some version. A replaced table keeps its identity, as with
REPLACE TABLE. A deep clone that replaces an earlier clone of the same table reuses the files that it has already
copied.

A table created by LIKE has no rows, and the other table's definition: columns, partitioning, clustering, properties,
constraints and the comment. Column ids, widened types and high-water marks belong to the other table's history and are
not copied; the protocol is the lowest that supports the definition. From a table in another format, whose properties
have no meaning in Delta, only columns, partitioning and the comment are copied.
"""

from __future__ import annotations

from catalog.conditions import CannotModifyAppendOnly, CloneOfItself, CloneSourceNotSupported, LocationNotEmpty
from engine.binding.bound import BoundStatement, BoundTable, BoundView, FreeName
from engine.delta.definition.clones import define_clone
from engine.delta.definition.like_tables import define_like, define_like_other
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import APPEND_ONLY, ensure_distinct
from engine.errors.table_errors import name_table_in_errors
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.plans import ClonePlan
from engine.planning.plans.ddl import CreateTablePlan
from engine.statements.create_table.planning import free_name, new_entry, plan_create_like, tolerated_errors
from engine.statements.create_table.statement import CloneTable, CreateMode, CreateTableLike
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.snapshot import TableSnapshot


def plan_clone(bound: BoundStatement, statement: CloneTable) -> ClonePlan | CreateTablePlan:
    """Plans CLONE. Raises if the source cannot be read or written in full, or the target cannot be replaced."""
    source = _source(bound)
    if isinstance(bound.target, BoundTable):
        return _plan(bound, statement, source, _replaceable(bound.target, source))
    if_not_exists = statement.mode is CreateMode.CREATE_IF_NOT_EXISTS
    target = free_name(bound, if_not_exists=if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    if target.found is not None:
        raise LocationNotEmpty(str(target.name), target.location)
    return _plan(bound, statement, source, target)


def _source(bound: BoundStatement) -> BoundTable:
    """Returns the source table; the clone inherits all its table features, so they must be writable."""
    (source,) = bound.named
    if isinstance(source, BoundView):
        raise CloneSourceNotSupported(source.label, "view")
    with name_table_in_errors(source.label):
        snapshot = delta_snapshot(source.snapshot, "CLONE")
        snapshot.config.ensure_supported(TableOperation.READ)
        snapshot.config.ensure_supported(TableOperation.OVERWRITE)
        snapshot.ensure_files_allowed()
    return source


def _replaceable(table: BoundTable, source: BoundTable) -> BoundTable:
    if table.entry.location == source.entry.location:
        raise CloneOfItself(table.label)
    with name_table_in_errors(table.label):
        config = delta_snapshot(table.snapshot, "CLONE").config
        config.ensure_supported(TableOperation.OVERWRITE)
        config.ensure_supported(TableOperation.METADATA)
    if config.get(APPEND_ONLY):
        raise CannotModifyAppendOnly(table.label)
    return table


def _plan(bound: BoundStatement, statement: CloneTable, source: BoundTable, target: BoundTable | FreeName) -> ClonePlan:
    replaced = target if isinstance(target, BoundTable) else None
    entry = new_entry(bound, target) if isinstance(target, FreeName) else target.entry
    ensure_distinct(key for key, _ in statement.properties)
    with name_table_in_errors(source.label):
        definition = define_clone(
            str(entry.name),
            delta_snapshot(source.snapshot).config,
            delta_snapshot(replaced.snapshot).config if replaced else None,
            dict(statement.properties),
        )
    return ClonePlan(
        source=source,
        shallow=statement.shallow,
        is_past=statement.time_travel is not None,
        sources=_sources(bound, source) if statement.shallow else (),
        entry=entry,
        replaced=replaced,
        is_path=isinstance(target, FreeName) and target.is_path,
        definition=definition,
        description=CommitDescription(
            name="CLONE",
            operation=TableOperation.OVERWRITE,
            parameters={
                "source": source.label,
                "sourceVersion": source.snapshot.version,
                "isShallow": statement.shallow,
            },
            user_name=bound.state.principal,
            exclusive=True,
        ),
        tolerated=tolerated_errors(if_not_exists=statement.mode is CreateMode.CREATE_IF_NOT_EXISTS),
    )


def _sources(bound: BoundStatement, source: BoundTable) -> tuple[str, ...]:
    """Returns the folders with files that the clone will reference: a clone of a clone references the first table's
    files.
    """
    return (source.snapshot.table_root, *bound.view.sources_of(source.entry.location))


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    """Plans CREATE TABLE LIKE. Raises like `plan_create_like`, `define_like` and `define_like_other`."""
    return plan_create_like(bound, statement, _define)


def _define(label: str, snapshot: TableSnapshot, written: dict[str, str]) -> Definition:
    if isinstance(snapshot, Snapshot):
        return define_like(label, snapshot.config, written)
    return define_like_other(label, snapshot.schema, snapshot.details, written)
