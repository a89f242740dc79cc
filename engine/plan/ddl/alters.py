"""Plans of ALTER TABLE and COMMENT ON: a statement becomes changes of the table's definition.

The changes themselves are `engine.delta.definition.metadata_changes`; here they are named, and what only someone who
understands SQL can see is seen: that a constraint or a generated column uses the column that changes, that the rows of
the table have to be checked before a constraint is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType

from catalog.changes import RenameTable as RenameTableChange
from catalog.changes import SetLocation as SetLocationChange
from catalog.names import TableName
from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.definition import metadata_changes as changes
from engine.delta.definition.clustering import clustering_names
from engine.delta.definition.metadata_changes import MetadataChange, change_table
from engine.delta.definition.table_draft import Definition
from engine.delta.delta_format import delta_snapshot
from engine.delta.maintenance.stale_files import STALE_FILES
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.schema.schema_errors import AddedColumnNotNull, ColumnChangeNotSupported, DropNeedsMapping
from engine.delta.spec.features import find_feature
from engine.delta.spec.properties import COLUMN_MAPPING_MODE, canonical_key, ensure_distinct
from engine.errors.alter_errors import LocationOfPath, LocationSchemaDiffers, RenameOfPath, ReplacedColumnsDiffer
from engine.errors.statement_errors import StatementNotSupported
from engine.errors.table_errors import naming
from engine.plan.ddl import alter_history
from engine.plan.ddl.alter_columns import add_columns, alter_column, drop_columns, new_not_nulls, rename_column
from engine.plan.ddl.drop_features import do_without, drop_feature, goes_with_files, stale_files
from engine.plan.ddl.identity_sync import plan_sync_identity
from engine.plan.ddl.keys import added_key, dropped_key
from engine.plan.ddl.new_tables import COMMENT, plan_expression_checks
from engine.plan.ddl.replace_columns import replace_columns
from engine.plan.ddl.row_tracking import begins_row_tracking, next_step
from engine.plan.ddl.table_ddl import spelled_columns
from engine.plan.rules.row_checks import plan_row_checks
from engine.plans.ddl import AlterPlan, BackfillPlan, CatalogPlan, RewritePlan, SyncIdentityPlan, TruncateHistoryPlan
from engine.plans.expression_checks import ExpressionCheckPlan
from engine.statements.alters import (
    AddColumns,
    AddConstraint,
    AlterColumn,
    AlterTable,
    ClusterBy,
    DropColumns,
    DropConstraint,
    DropFeature,
    RenameColumn,
    RenameTable,
    ReplaceColumns,
    SetLocation,
    SetProperties,
    SyncIdentity,
    TableChange,
    UnsetProperties,
)
from engine.statements.catalog import Commentable, CommentOn
from engine.statements.keys import AddKey, DropKey
from engine.table.operations import CommitDescription, TableOperation
from engine.types.schema import StructType, parse_schema
from engine.types.schema_changes import resolve_path

_REPLACE_REFUSALS = (AddedColumnNotNull, ColumnChangeNotSupported, DropNeedsMapping)


def plan_alter(
    bound: BoundStatement, statement: AlterTable
) -> AlterPlan | BackfillPlan | CatalogPlan | RewritePlan | SyncIdentityPlan | TruncateHistoryPlan:
    """Raises for what the table, or this release, cannot do."""
    table = _table(bound)
    match statement.changes[0]:
        case RenameTable(table_parts=parts):
            return _renamed(bound, table, parts)
        case SyncIdentity() as sync:
            return plan_sync_identity(bound, table, sync)
        case SetLocation():
            return _moved(bound, table)
        case DropFeature() as drop:
            return _dropped_feature(bound, table, drop)
        case SetProperties() | UnsetProperties() as change if _ends_mapping(table, change):
            return _unmapped(bound, table, change)
        case SetProperties() as change if begins_row_tracking(table, change):
            return next_step(bound, table, _altered(bound, table, statement.changes))
        case ClusterBy() as cluster:
            return _clustered(bound, table, cluster)
        case _:
            return _altered(bound, table, statement.changes)


def plan_comment(bound: BoundStatement, statement: CommentOn) -> AlterPlan:
    """COMMENT ON a table or a column; NULL takes the comment away."""
    table = _table(bound)
    if statement.kind is Commentable.COLUMN:
        path = (statement.parts[-1],)
        change: MetadataChange = changes.SetColumnMetadata(path=path, key=COMMENT, value=statement.comment)
        definition = _changed(table, [change])
        operation = alter_history.operation_of(
            (AlterColumn(parts=path),), table.snapshot.schema, _schema_of(definition), {}
        )
    else:
        definition = _changed(table, [changes.SetDescription(text=statement.comment)])
        properties = alter_history.compact({"comment": statement.comment})
        operation = "SET TBLPROPERTIES", {"properties": properties}
    return AlterPlan(table=table, definition=definition, description=_description(bound, operation))


def _table(bound: BoundStatement) -> BoundTable:
    assert isinstance(bound.target, BoundTable)
    return bound.target


def _renamed(bound: BoundStatement, table: BoundTable, parts: tuple[str, ...]) -> CatalogPlan:
    """The name alone: a managed table keeps its folder."""
    if table.name is None:
        raise RenameOfPath(table.label)
    return CatalogPlan(change=RenameTableChange(table.name, TableName.from_parts(parts, bound.state.current)))


def _moved(bound: BoundStatement, table: BoundTable) -> CatalogPlan:
    """Another table of the same columns under the name of an external one."""
    (other,) = bound.tables
    if table.name is None:
        raise LocationOfPath(table.label)
    if table.entry.managed:
        raise StatementNotSupported("SET LOCATION of a managed table")
    current, new = (
        [*spelled_columns(each.snapshot.schema), f"PARTITIONED BY ({', '.join(each.snapshot.partition_columns)})"]
        for each in (table, other)
    )
    if current != new:
        raise LocationSchemaDiffers(table.label, ", ".join(current), ", ".join(new))
    return CatalogPlan(change=SetLocationChange(table.name, other.entry.location))


def _dropped_feature(
    bound: BoundStatement, table: BoundTable, drop: DropFeature
) -> AlterPlan | RewritePlan | TruncateHistoryPlan:
    """Alone in its version: what it looked at must be what it is committed over.

    Where files need the feature these are written first, in a version of their own that only rearranges: no row changes
    by it, so that it is in nobody's way. The statement is then planned again: what others wrote with the feature in
    between is written too. Whatever happens, every version is a table with the same rows. Where files are readable
    either with the feature or without it (column mapping), both are one version; it holds all files of the table, so a
    commit beside it is a conflict for the user: to write all of them again would be asking for the next one.
    """
    parameters = {"featureName": drop.feature, "truncateHistory": alter_history.compact(drop.truncate_history)}
    description = replace(_description(bound, ("DROP FEATURE", parameters)), exclusive=True)
    with naming(table.label):
        delta_snapshot(table.snapshot).config.ensure_supported(TableOperation.METADATA)
    definition = _changed(table, drop_feature(delta_snapshot(table.snapshot), drop))
    finder = stale_files(drop)
    stale = None if finder is None else finder(delta_snapshot(table.snapshot))
    if stale is None or stale.num_rows == 0:
        if drop.truncate_history:
            return _truncated_history(
                bound, table, drop, AlterPlan(table=table, definition=definition, description=description)
            )
        return AlterPlan(table=table, definition=definition, description=description)
    with naming(table.label):
        delta_snapshot(table.snapshot).config.ensure_supported(TableOperation.OVERWRITE)
    if goes_with_files(drop):
        if drop.truncate_history:
            definition = _changed(table, [changes.RemoveMapping()])
            description = replace(_description(bound, ("REMOVE COLUMN MAPPING", {})), exclusive=True)
        is_last = not drop.truncate_history
        return RewritePlan(table=table, files=stale, definition=definition, description=description, is_last=is_last)
    purge = _description(bound, ("REORG", {"predicate": "[]", "applyPurge": "true"}))
    return RewritePlan(
        table=table,
        files=stale,
        definition=Definition.of(delta_snapshot(table.snapshot).config),
        description=replace(purge, operation=TableOperation.OVERWRITE, changes_data=False),
        is_last=False,
    )


def _truncated_history(
    bound: BoundStatement, table: BoundTable, drop: DropFeature, last: AlterPlan
) -> AlterPlan | TruncateHistoryPlan:
    """A newest version without need of the feature first, as a step; then older versions go with the feature."""
    feature = find_feature(drop.feature)
    assert feature is not None, "it was looked up when the definition without it was made"
    first = do_without(delta_snapshot(table.snapshot), feature.canonical_name)
    if first:
        written = {change.key: change.value for change in first if isinstance(change, changes.SetProperty)}
        operation = "SET TBLPROPERTIES", {"properties": alter_history.compact(written)}
        return AlterPlan(
            table=table,
            definition=_changed(table, first),
            description=_description(bound, operation),
            is_last=False,
        )
    return TruncateHistoryPlan(
        table=table,
        feature=feature.canonical_name,
        definition=last.definition,
        description=last.description,
    )


def _ends_mapping(table: BoundTable, change: SetProperties | UnsetProperties) -> bool:
    """Whether columns are to be stored under their own names again."""
    if delta_snapshot(table.snapshot).config.column_mapping_mode == NO_MAPPING:
        return False
    match change:
        case SetProperties(properties=properties):
            written = {canonical_key(key): value.strip().lower() for key, value in properties}
            return written.get(COLUMN_MAPPING_MODE.key) == NO_MAPPING
        case UnsetProperties(keys=keys):
            return COLUMN_MAPPING_MODE.key in map(canonical_key, keys)


def _unmapped(
    bound: BoundStatement, table: BoundTable, change: SetProperties | UnsetProperties
) -> AlterPlan | RewritePlan:
    """Files and metadata in one version, as DROP FEATURE does; the protocol stays."""
    only = len(change.properties if isinstance(change, SetProperties) else change.keys) == 1
    definition = _changed(table, [changes.RemoveMapping(), *_changes(bound, table, change)])
    named = alter_history.operation_of((change,), table.snapshot.schema, _schema_of(definition), {})
    description = replace(
        _description(bound, ("REMOVE COLUMN MAPPING", {}) if only else named),
        exclusive=True,
    )
    files = STALE_FILES["columnMapping"]()(delta_snapshot(table.snapshot))
    if files.num_rows == 0:
        return AlterPlan(table=table, definition=definition, description=description)
    with naming(table.label):
        delta_snapshot(table.snapshot).config.ensure_supported(TableOperation.OVERWRITE)
    return RewritePlan(table=table, files=files, definition=definition, description=description, is_last=True)


def _clustered(bound: BoundStatement, table: BoundTable, cluster: ClusterBy) -> AlterPlan:
    definition = _changed(table, [changes.ClusterBy(columns=cluster.columns)])
    parameters = {
        "oldClusteringColumns": ",".join(clustering_names(delta_snapshot(table.snapshot).config)),
        "newClusteringColumns": ",".join(clustering_names(definition.config(table.label))),
    }
    return AlterPlan(table=table, definition=definition, description=_description(bound, ("CLUSTER BY", parameters)))


def _altered(bound: BoundStatement, table: BoundTable, written: tuple[TableChange, ...]) -> AlterPlan:
    schema = table.snapshot.schema
    folded = [change for each in written for change in _changes(bound, table, each)]
    try:
        definition = _changed(table, folded)
    except _REPLACE_REFUSALS as error:
        if not isinstance(written[0], ReplaceColumns):
            raise
        raise ReplacedColumnsDiffer(error.message) from error
    after, settings = _schema_of(definition), delta_snapshot(table.snapshot).metadata.configuration
    constraints = [(change.name, change.expression) for change in folded if isinstance(change, changes.AddConstraint)]
    not_nulls = [path for change in written if isinstance(change, AlterColumn) for path in new_not_nulls(table, change)]
    return AlterPlan(
        table=table,
        definition=definition,
        description=_description(bound, alter_history.operation_of(written, schema, after, settings)),
        expression_checks=_expression_checks(table, written, after, constraints),
        checks=plan_row_checks(table, constraints, not_nulls),
    )


def _changed(table: BoundTable, folded: Iterable[MetadataChange]) -> Definition:
    snapshot = delta_snapshot(table.snapshot, "ALTER TABLE")
    with naming(table.label):
        snapshot.config.ensure_supported(TableOperation.METADATA)
        return change_table(replace(snapshot.config, table=table.label), folded)


def _schema_of(definition: Definition) -> StructType:
    return parse_schema(definition.metadata.schema_string)


def _description(bound: BoundStatement, operation: alter_history.HistoryOperation) -> CommitDescription:
    name, parameters = operation
    return CommitDescription(
        name=name,
        operation=TableOperation.METADATA,
        parameters=MappingProxyType(parameters),
        user_name=bound.state.principal,
    )


def _expression_checks(
    table: BoundTable, written: tuple[TableChange, ...], after: StructType, constraints: list[tuple[str, str]]
) -> ExpressionCheckPlan | None:
    """New constraints and defaults: whether they can be evaluated, and give what they must."""
    defaults = {
        resolve_path(table.snapshot.schema, change.parts)[0]
        for change in written
        if isinstance(change, AlterColumn) and change.default is not None
    }
    changed = [field for field in after.fields if field.name in defaults]
    return plan_expression_checks(after, constraints, table.entry.location, changed)


def _changes(bound: BoundStatement, table: BoundTable, change: TableChange) -> Iterator[MetadataChange]:
    match change:
        case AddColumns():
            yield from add_columns(change)
        case RenameColumn():
            yield from rename_column(table, change)
        case DropColumns():
            yield from drop_columns(table, change)
        case AlterColumn():
            yield from alter_column(table, change)
        case ReplaceColumns():
            yield from replace_columns(table, change)
        case AddConstraint(check=check):
            if check.name is None:
                raise StatementNotSupported("ALTER TABLE … ADD CHECK without a name")
            yield changes.AddConstraint(name=check.name, expression=check.expression)
        case AddKey():
            yield added_key(table, change, bound.tables)
        case DropConstraint() | DropKey():
            yield from dropped_key(table, change, bound.tables)
        case SetProperties(properties=properties):
            ensure_distinct(key for key, _ in properties)
            yield from changes.set_properties(dict(properties))
        case UnsetProperties(keys=keys):
            yield from (changes.UnsetProperty(key=key) for key in keys)
        case _:
            raise alter_history.not_supported(change)
