"""Which privileges a statement takes: a closed table of all statements, pure over what was bound.

The rules are Databricks' where it has the statement. USE on the schema and catalog of each object comes with every need
(`catalog.conditions`). Nothing here looks at who asks; what the principal may not know of was not found when the
statement was bound, but for containers that statements name and binding does not look up: these are looked up here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from catalog.conditions import AnyNeed, Definer, NameNeed, Need
from catalog.entries import FunctionEntry, LocationEntry, SchemaEntry, ViewEntry, VolumeEntry, owner_of
from catalog.names import CatalogName, SchemaName, TableName, path_of
from catalog.privileges import Privilege, user
from catalog.rights import label_of
from catalog.state import DEFAULT_SCHEMA_NAME
from catalog.system_views import is_system_schema
from engine.authorize.right_needs import right_needs
from engine.bind.bound import (
    BoundChanges,
    BoundFiles,
    BoundFunction,
    BoundInBody,
    BoundMetadata,
    BoundRelation,
    BoundStatement,
    BoundTable,
    BoundView,
    FreeName,
    PathOwner,
    TakenName,
)
from engine.bind.sight import free_path_owners
from engine.runtime.session_state import is_temporary
from engine.statements.alters import (
    AddConstraint,
    AlterColumn,
    AlterTable,
    DropFeature,
    RenameTable,
    SetLocation,
    TableChange,
)
from engine.statements.calls.procedures import (
    AddFiles,
    AncestorsOf,
    Call,
    CherrypickSnapshot,
    ExpireSnapshots,
    FastForward,
    PublishChanges,
    RegisterTable,
    RemoveOrphanFiles,
    RewriteDataFiles,
    RewriteManifests,
    RewritePositionDeleteFiles,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SetCurrentSnapshot,
    SnapshotTable,
)
from engine.statements.catalog import (
    AlterCatalog,
    AlterView,
    Commentable,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateView,
    DropCatalog,
    DropSchema,
    DropView,
)
from engine.statements.copies import ConvertTable, CopyInto
from engine.statements.explains import ExplainWrite
from engine.statements.foreign import Refresh, ShowAbsent
from engine.statements.functions import CreateFunction, DescribeFunction, DropFunction
from engine.statements.maintenance import (
    AnalyzeTable,
    GenerateManifest,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)
from engine.statements.merges import Merge
from engine.statements.policies import AlterColumnMask, AlterRowFilter, NewPolicy
from engine.statements.queries import DescribeQuery, Explain, Query
from engine.statements.rights import (
    DescribePolicy,
    RightStatement,
    ShowGrants,
    ShowGroups,
    ShowLocations,
    ShowPolicies,
    ShowUsers,
    TokenStatement,
)
from engine.statements.session import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
from engine.statements.shows import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
    FindColumns,
    FindFunctions,
    FindKeys,
    FindSchemas,
    FindTables,
    ListColumns,
    ListFiles,
    ListForeignKeys,
    ListFunctions,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)
from engine.statements.statement import AnsweredStatement
from engine.statements.tables import REPLACES, CloneTable, CreateTable, CreateTableLike, DropTable
from engine.statements.variables import DeclareVariables, DropVariable, EvaluateQuery, SetVariables
from engine.statements.volumes import (
    ChangeFile,
    CreateVolume,
    DescribeVolume,
    DropVolume,
    FileStatement,
    GetFile,
    ListVolume,
    RenameVolume,
    ShowVolumes,
    VolumeDefinition,
)
from engine.statements.writes import Delete, Insert, TruncateTable, Update

Needs = Iterable[AnyNeed]

_ON_VOLUME = {Privilege.SELECT: Privilege.READ_VOLUME, Privilege.MODIFY: Privilege.WRITE_VOLUME}
"""Privileges on tables -> those on a volume whose files are named by their path."""

_ON_LOCATION = {
    Privilege.SELECT: Privilege.READ_FILES,
    Privilege.MODIFY: Privilege.WRITE_FILES,
    Privilege.MANAGE: Privilege.WRITE_FILES,
}
"""What a privilege on a table is on the external location of a table that is only known by its path."""


def needs_of(bound: BoundStatement) -> Iterator[AnyNeed]:
    """All that the statement takes. Raises where it names a container that the principal may not know of."""
    statement = bound.statement
    if isinstance(statement, AnsweredStatement):
        yield from _answered(bound, statement)
        return
    if isinstance(statement, TokenStatement):  # of one's own, which the answer looks at
        return
    if isinstance(statement, RightStatement):
        yield from right_needs(bound, statement)
        return
    yield from _executions(bound.functions, _definer_of(bound, statement))
    match statement:
        case Query() | Explain() | DescribeQuery() | SetVariables() | EvaluateQuery():
            yield from _reads(bound.relations)
        case DeclareVariables() | DropVariable():  # their expressions name no tables
            pass
        case ExplainWrite(inner=(Insert() | Delete() | Update() | Merge()) as inner):
            yield from _row_changes(bound, inner)
        case Insert() | Delete() | Update() | Merge():
            yield from _row_changes(bound, statement)
        case TruncateTable():
            yield from (*_on_target(bound, Privilege.MODIFY), *_on_target(bound, Privilege.SELECT))
        case CopyInto():
            yield from (*_on_target(bound, Privilege.MODIFY), *_reads(bound.relations))
        case CreateTable() | CreateTableLike() | CloneTable():
            replaces = not isinstance(statement, CreateTableLike) and statement.mode in REPLACES
            yield from (*_new_table(bound, statement.table_parts, replaces=replaces), *_reads(bound.relations))
            yield from _policy_functions(bound, statement.policies if isinstance(statement, CreateTable) else ())
        case ConvertTable(path=path):
            is_new = path is not None
            yield from _new_table(bound, statement.table_parts) if is_new else _on_target(bound, Privilege.MANAGE)
        case AlterTable():
            yield from _altered(bound, statement)
        case DropTable() | AlterRowFilter() | AlterColumnMask() | RestoreTable() | RepairTable():
            yield from _on_target(bound, Privilege.MANAGE)
        case Optimize(condition=condition) | Reorg(condition=condition):
            yield from _on_target(bound, Privilege.MODIFY)
            if condition is not None:
                yield from _on_target(bound, Privilege.SELECT)
        case Vacuum() | GenerateManifest() | AnalyzeTable():
            yield from _on_target(bound, Privilege.MODIFY)
        case Call():
            yield from _called(bound, statement)
        case RegisterTable() | SnapshotTable():
            assert isinstance(bound.target, FreeName | TakenName)
            yield from _reads(bound.relations)
            named = bound.target.name if isinstance(bound.target, FreeName) else bound.target.entry.name
            yield from _new_table(bound, named.parts)
        case CreateSchema() | DropSchema() | CreateCatalog() | AlterCatalog() | DropCatalog():
            yield from _containers(bound, statement)
        case CreateView():
            yield from _new_view(bound, statement)
        case CreateFunction():
            yield from _new_function(bound, statement)
        case DropFunction():
            yield from _on_securable(bound, Privilege.MANAGE)
        case GetFile() | ListVolume() | ChangeFile() | CreateVolume() | DropVolume() | RenameVolume():
            yield from _volumes(bound, statement)
        case AlterView():
            yield from _altered_view(bound, statement)
        case DropView():
            yield from _dropped_view(bound, statement)
        case CommentOn():
            yield from _commented(bound, statement)
        case _:
            assert_never(statement)


def _new_function(bound: BoundStatement, statement: CreateFunction) -> Iterator[AnyNeed]:
    if not statement.temporary:
        name = TableName.from_parts(statement.function_parts, bound.state.current)
        yield Need(Privilege.CREATE_FUNCTION, _schema(bound, name))
        if statement.or_replace:
            yield NameNeed(name, is_function=True)
    yield from _reads(bound.relations, _definer_of(bound, statement))


def _answered(bound: BoundStatement, statement: AnsweredStatement) -> Needs:
    match statement:
        case DescribeDetail() | DescribeHistory() | ShowPartitions() | ListFiles() | DescribeTable(version=int()):
            return _reads(bound.relations)
        case ShowCreateTable():
            views = [each.entry for each in bound.named if isinstance(each, BoundView)]
            return [Need(Privilege.MANAGE, view) for view in views if not is_temporary(view.name)]
        case UseCatalog(catalog=catalog):
            return [Need(Privilege.USE_CATALOG, bound.view.catalog(CatalogName(catalog)))]
        case UseSchema():
            return _used_schema(bound, statement)
        case (
            DescribeTable()
            | ShowColumns()
            | ShowTblProperties()
            | DescribeSchema()
            | DescribeCatalog()
            | Refresh()
            | ShowAbsent()
            | ShowGrants()
            | ShowGroups()
            | ShowUsers()
            | ShowLocations()
            | DescribeFunction()
            | ShowVolumes()
            | DescribeVolume()
        ):  # what is visible may be described
            return ()
        case ShowPolicies() | DescribePolicy():
            return [] if bound.securable is None else [Need(Privilege.MANAGE, bound.securable)]
        case ShowCatalogs() | ShowSchemas() | ShowTables() | ShowTableExtended() | ShowViews() | ShowFunctions():
            return ()  # lists have what is visible alone
        case FindSchemas() | FindTables() | FindColumns() | FindFunctions() | FindKeys():
            return ()
        case ListSchemas() | ListTables() | ListColumns() | ListFunctions() | ListPrimaryKeys() | ListForeignKeys():
            return ()
        case ShowCurrentNamespace() | SetSetting() | ShowSettings() | ResetSetting():
            return ()
        case _:
            assert_never(statement)


def _used_schema(bound: BoundStatement, statement: UseSchema) -> Needs:
    """`USE x` may mean a catalog. Everybody may be in the default schema, where sessions begin."""
    name = SchemaName.from_parts(statement.parts, bound.state.catalog)
    catalog = CatalogName(statement.parts[0])
    if bound.view.finds_schema(name):
        is_open = is_system_schema(name) or name == DEFAULT_SCHEMA_NAME
        return [] if is_open else [Need(Privilege.USE_SCHEMA, bound.view.schema(name))]
    if len(statement.parts) == 1 and not statement.schema_only and bound.view.has_catalog(catalog):
        return [Need(Privilege.USE_CATALOG, bound.view.catalog(catalog))]
    return []  # there is none, which its answer says


def _row_changes(bound: BoundStatement, statement: Insert | Delete | Update | Merge) -> Needs:
    """SELECT too, where rows that are there decide what happens: its outcome tells of them."""
    appends = isinstance(statement, Insert) and not statement.overwrite and statement.replace is None
    yield from _on_target(bound, Privilege.MODIFY)
    if not appends:
        yield from _on_target(bound, Privilege.SELECT)
    yield from _reads(bound.relations)


def _altered(bound: BoundStatement, statement: AlterTable) -> Needs:
    match statement.changes[0]:
        case RenameTable(table_parts=parts):
            yield from _on_target(bound, Privilege.MANAGE)
            if path_of(parts) is None:
                yield Need(Privilege.CREATE_TABLE, _schema(bound, TableName.from_parts(parts, bound.state.current)))
        case SetLocation():
            yield from _on_target(bound, Privilege.MANAGE)
            for relation in bound.tables:
                yield from (Need(Privilege.CREATE_EXTERNAL_TABLE, owner) for owner in relation.owners)
        case DropFeature():
            yield from _on_target(bound, Privilege.MANAGE)
        case _:
            yield from _on_target(bound, Privilege.MODIFY)
            if any(map(checks_rows, statement.changes)):
                yield from _on_target(bound, Privilege.SELECT)


def checks_rows(change: TableChange) -> bool:
    """Whether the outcome depends on the rows that are stored, and so tells of them."""
    return isinstance(change, AddConstraint) or (isinstance(change, AlterColumn) and change.nullable is False)


def _called(bound: BoundStatement, statement: Call) -> Needs:
    """As the statement of other tables that does the same: RESTORE, OPTIMIZE, VACUUM, an INSERT that replaces rows."""
    match statement.procedure:
        case AncestorsOf():
            yield from _on_target(bound, Privilege.SELECT)
        case RollbackToSnapshot() | RollbackToTimestamp() | SetCurrentSnapshot():
            yield from _on_target(bound, Privilege.MANAGE)
        case CherrypickSnapshot() | PublishChanges() | FastForward():
            yield from (*_on_target(bound, Privilege.MODIFY), *_on_target(bound, Privilege.SELECT))
        case AddFiles(folder=folder):
            yield from (*_on_target(bound, Privilege.MODIFY), *_reads(bound.relations))
            yield from (_on_owner(each, Privilege.SELECT, None) for each in (_places(bound, folder) if folder else ()))
        case ExpireSnapshots() | RemoveOrphanFiles():
            yield from _on_target(bound, Privilege.MODIFY)
        case RewriteDataFiles(where=where) | RewritePositionDeleteFiles(where=where):
            yield from _on_target(bound, Privilege.MODIFY)
            if where is not None:
                yield from _on_target(bound, Privilege.SELECT)
        case RewriteManifests():
            yield from _on_target(bound, Privilege.MODIFY)
        case _:
            assert_never(statement.procedure)


def _new_table(bound: BoundStatement, parts: tuple[str, ...], *, replaces: bool = False) -> Needs:
    """A name in a schema, a place where the statement chose one, and the table that is replaced, if any."""
    target = bound.target
    if path_of(parts) is None:
        yield Need(Privilege.CREATE_TABLE, _schema(bound, TableName.from_parts(parts, bound.state.current)))
    match target:
        case BoundTable():
            yield from _on_table(target, Privilege.MANAGE)
        case FreeName(owners=owners):
            yield from (Need(Privilege.CREATE_EXTERNAL_TABLE, owner) for owner in owners)
            if target.is_path:
                yield from (Need(Privilege.WRITE_FILES, owner) for owner in owners)
        case TakenName(entry=entry):
            if replaces:
                yield Need(Privilege.MANAGE, entry)
        case None:
            pass
        case _:
            assert_never(target)


def _policy_functions(bound: BoundStatement, policies: Iterable[NewPolicy]) -> Needs:
    for each in policies:
        function = bound.view.find_function(TableName.from_parts(each.function_parts, bound.state.current))
        if function is not None:
            yield Need(Privilege.EXECUTE, function)


def _new_view(bound: BoundStatement, statement: CreateView) -> Needs:
    """What its query reads: for a view of the catalog as its owner, as which it will be read."""
    if statement.temporary:
        yield from _reads(bound.relations)
        return
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    if statement.alters:
        bound.view.resolve(name)
    yield Need(Privilege.CREATE_TABLE, _schema(bound, name))
    replaced = bound.view.unrestricted.find(name) if statement.or_replace else None
    if replaced is not None:
        yield Need(Privilege.MANAGE, replaced)
    if statement.or_replace:
        yield NameNeed(name)
    yield from _reads(bound.relations, _definer_of(bound, statement))


def _altered_view(bound: BoundStatement, statement: AlterView) -> Needs:
    """Returns what DROP VIEW needs; another name needs what ALTER TABLE … RENAME TO does."""
    if bound.state.temporary_view(statement.view_parts) is not None:
        return
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    found = bound.view.resolve(name)
    if is_system_schema(name.schema_name):
        return
    yield Need(Privilege.MANAGE, found)
    if isinstance(statement.change, RenameTable):
        new_name = TableName.from_parts(statement.change.table_parts, bound.state.current)
        yield Need(Privilege.CREATE_TABLE, _schema(bound, new_name))


def _dropped_view(bound: BoundStatement, statement: DropView) -> Needs:
    if bound.state.temporary_view(statement.view_parts) is not None:
        return
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    found = bound.view.find(name) if statement.if_exists else bound.view.resolve(name)
    if found is not None and not is_system_schema(name.schema_name):
        yield Need(Privilege.MANAGE, found)


def _containers(
    bound: BoundStatement, statement: CreateSchema | DropSchema | CreateCatalog | AlterCatalog | DropCatalog
) -> Needs:
    match statement:
        case CreateCatalog() | AlterCatalog():  # whose place and secret are as free as those of a new one
            yield Need(Privilege.CREATE_CATALOG, bound.view.state.server)
            if isinstance(statement, AlterCatalog):
                yield Need(Privilege.MANAGE, bound.view.catalog(CatalogName(statement.catalog)))
        case DropCatalog(catalog=catalog, if_exists=if_exists):
            if bound.view.has_catalog(CatalogName(catalog)) or not if_exists:
                yield Need(Privilege.MANAGE, bound.view.catalog(CatalogName(catalog)))
        case CreateSchema(schema_parts=parts):
            catalog_name = SchemaName.from_parts(parts, bound.state.catalog).catalog_name
            yield Need(Privilege.CREATE_SCHEMA, bound.view.catalog(catalog_name))
            if statement.location is not None:
                for owner in _places(bound, statement.location):
                    yield Need(Privilege.CREATE_EXTERNAL_TABLE, owner)
        case DropSchema(schema_parts=parts):
            schema = SchemaName.from_parts(parts, bound.state.catalog)
            if bound.view.finds_schema(schema) or not statement.if_exists:
                yield from _managed(bound.view.schema(schema))
        case _:
            assert_never(statement)


def _places(bound: BoundStatement, written: str) -> Iterable[PathOwner]:
    return free_path_owners(bound.view, bound.view.ensure_location(written))


def _volumes(bound: BoundStatement, statement: VolumeDefinition | FileStatement) -> Needs:
    match statement:
        case GetFile() | ListVolume():
            yield _on_volume(bound, Privilege.READ_VOLUME)
        case ChangeFile():
            yield _on_volume(bound, Privilege.WRITE_VOLUME)
        case CreateVolume(volume_parts=parts, location=location):
            yield Need(Privilege.CREATE_VOLUME, _schema(bound, TableName.from_parts(parts, bound.state.current)))
            if location is not None:
                yield from (Need(Privilege.CREATE_EXTERNAL_VOLUME, owner) for owner in _places(bound, location))
        case RenameVolume(volume_parts=parts):
            yield _on_volume(bound, Privilege.MANAGE)
            yield Need(Privilege.CREATE_VOLUME, _schema(bound, TableName.from_parts(parts, bound.state.current)))
        case DropVolume():
            yield from _on_securable(bound, Privilege.MANAGE)
        case _:
            assert_never(statement)


def _on_volume(bound: BoundStatement, privilege: Privilege) -> Need:
    assert bound.securable is not None, "a statement on files is bound to their volume"
    return Need(privilege, bound.securable)


def _on_securable(bound: BoundStatement, privilege: Privilege) -> Needs:
    return [] if bound.securable is None else [Need(privilege, bound.securable)]


def _commented(bound: BoundStatement, statement: CommentOn) -> Needs:
    match statement.kind:
        case Commentable.CATALOG:
            return [Need(Privilege.MANAGE, bound.view.catalog(CatalogName(statement.parts[0])))]
        case Commentable.SCHEMA:
            name = SchemaName.from_parts(statement.parts, bound.state.catalog)
            return _managed(bound.view.schema(name))
        case Commentable.VOLUME:
            return _on_securable(bound, Privilege.MANAGE)
        case Commentable.COLUMN if bound.target is None:
            view = bound.view.resolve(TableName.from_parts(statement.parts[:-1], bound.state.current))
            return [] if is_system_schema(view.name.schema_name) else [Need(Privilege.MANAGE, view)]
        case Commentable.TABLE | Commentable.COLUMN:
            return _on_target(bound, Privilege.MODIFY)
        case _:
            assert_never(statement.kind)


def _managed(schema: SchemaEntry) -> Needs:
    """Nobody manages `information_schema`, which refuses changes itself."""
    return [] if is_system_schema(schema.name) else [Need(Privilege.MANAGE, schema)]


def _schema(bound: BoundStatement, name: TableName) -> SchemaEntry:
    return bound.view.schema(name.schema_name)


def _on_target(bound: BoundStatement, privilege: Privilege) -> Needs:
    match bound.target:
        case BoundTable() as table:
            return _on_table(table, privilege)
        case TakenName(entry=entry):
            return [Need(privilege, entry)]
        case FreeName() | None:  # nothing is there
            return []
        case _:
            assert_never(bound.target)


def _on_table(table: BoundTable, privilege: Privilege, definer: Definer | None = None) -> Needs:
    if table.name is not None:
        return [Need(privilege, table.entry, definer)]
    return [_on_owner(owner, privilege, definer) for owner in table.owners]


def _on_owner(owner: PathOwner, privilege: Privilege, definer: Definer | None) -> Need:
    """A table that is reached by its path takes what it takes by its name."""
    if isinstance(owner, VolumeEntry):
        return Need(_ON_VOLUME[privilege], owner, definer)
    return Need(_ON_LOCATION[privilege] if isinstance(owner, LocationEntry) else privilege, owner, definer)


def _definer_of(bound: BoundStatement, statement: object) -> Definer | None:
    """As whom what a statement reads will be read: a new view or function as its owner."""
    is_kept = isinstance(statement, CreateFunction | CreateView) and not statement.temporary
    return Definer(user(bound.state.principal)) if is_kept else None


def _executions(functions: Iterable[BoundFunction], definer: Definer | None) -> Needs:
    """EXECUTE on each function that is called; what a body calls in its turn its owner has to have.

    A temporary function is its session's own, and takes what its body takes.
    """
    for function in functions:
        if is_temporary(function.entry.name):
            yield from _executions(function.functions, definer)
            continue
        yield Need(Privilege.EXECUTE, function.entry, definer)
        yield from _executions(function.functions, _owner(function.entry, definer))


def _owner(entry: ViewEntry | FunctionEntry, reader: Definer | None) -> Definer:
    """As whom a text is read. Messages name the outermost one, which the statement named, and nothing in it."""
    outer = None if reader is None else reader.label
    return Definer(owner_of(entry), outer or label_of(entry))


def _reads(relations: Iterable[BoundRelation], definer: Definer | None = None) -> Needs:
    for relation in relations:
        yield from _read(relation, definer)


def _read(relation: BoundRelation, definer: Definer | None) -> Needs:
    """SELECT on what is named; what a view of the catalog, the body of a function, or a policy names in its turn its
    owner has to have.
    """
    match relation:
        case BoundTable(policy=policy):
            yield from _on_table(relation, Privilege.SELECT, definer)
            if policy is not None:
                yield from _reads(policy.relations, Definer(None, (definer and definer.label) or relation.label))
        case BoundInBody(function=function, relation=named) if is_temporary(function.name):
            yield from _read(named, definer)
        case BoundInBody(function=function, called=called, relation=named):
            label = (definer and definer.label) or label_of(called)
            yield from _read(named, Definer(owner_of(function), label))
        case BoundChanges(table=table) | BoundMetadata(table=table):
            yield from _on_table(table, Privilege.SELECT, definer)
        case BoundFiles(owners=owners):
            yield from (_on_owner(owner, Privilege.SELECT, definer) for owner in owners)
        case BoundView(entry=view) if is_system_schema(view.name.schema_name):
            pass  # its rows are those that the principal may know of
        case BoundView(entry=view, relations=inner, functions=functions) if is_temporary(view.name):
            yield from (*_executions(functions, definer), *_reads(inner, definer))
        case BoundView(entry=view, relations=inner, functions=functions):
            yield Need(Privilege.SELECT, view, definer)
            owner = _owner(view, definer) if view.foreign is None else definer
            yield from (*_executions(functions, owner), *_reads(inner, owner))
        case _:
            assert_never(relation)
