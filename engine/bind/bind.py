"""Bind: names → catalog entries → one pinned snapshot per table. The only maker of a `BoundStatement`.

Columns, types and functions are not bound here; Spark analyses them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from catalog.entries import SecurableEntry, ViewEntry
from catalog.names import (
    DEFAULT_SCHEMA,
    ICEBERG,
    PATH_SCHEMA,
    CatalogName,
    Matcher,
    SchemaName,
    TableName,
    any_matcher,
    fold,
    jdbc_matcher,
    like_matcher,
    matches_all,
    path_of,
)
from catalog.volume_paths import parse_volume_path
from engine.bind.binder import Binder
from engine.bind.bound import (
    BoundRelation,
    BoundStatement,
    BoundTable,
    Target,
)
from engine.bind.drops import dropped
from engine.bind.new_tables import like_provider, new_table, replaced_table
from engine.bind.securables import (
    bind_described_function,
    bind_dropped_function,
    bind_location,
    bind_securable,
    bind_volume,
)
from engine.bind.sight import free_path_owners, volume_of_path
from engine.bind.source_files import bind_files, bind_files_at
from engine.bind.time_travel import Unevaluated, ValueNeeded, read_time
from engine.runtime.session_state import is_global
from engine.statements.alters import AlterTable, DropConstraint, SetLocation
from engine.statements.calls.procedures import AddFiles, Call, RegisterTable, SnapshotTable
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
from engine.statements.keys import AddKey, DropKey
from engine.statements.maintenance import (
    RestoreTable,
)
from engine.statements.merges import Merge
from engine.statements.policies import AlterColumnMask, AlterRowFilter, PolicyCall
from engine.statements.queries import (
    AsOfVersion,
    DescribeQuery,
    Explain,
    Query,
)
from engine.statements.rights import (
    AlterOwner,
    AlterTags,
    CreatePolicy,
    DescribePolicy,
    DropLocation,
    DropPolicy,
    GrantRights,
    RevokeRights,
    RightStatement,
    SecurableName,
    ShowGrants,
    ShowGroups,
    ShowLocations,
    ShowPolicies,
    ShowTokens,
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
from engine.statements.statement import AnsweredStatement, TableStatement, WriteStatement
from engine.statements.tables import CloneTable, CreateTable, CreateTableLike, DropTable
from engine.statements.variables import (
    DeclareVariables,
    DropVariable,
    EvaluateQuery,
    SetVariables,
    SingleStatement,
    VariableStatement,
)
from engine.statements.volumes import (
    ChangeFile,
    DescribeVolume,
    DropVolume,
    FileStatement,
    GetFile,
    ListVolume,
    RenameVolume,
    ShowVolumes,
    VolumeDefinition,
)
from engine.statements.writes import Delete, Insert, Update

_Unbound = (
    RightStatement
    | TokenStatement
    | DropFunction
    | AlterView
    | DeclareVariables
    | DropVariable
    | VolumeDefinition
    | FileStatement
)
_Named = (
    Query | Explain | ExplainWrite | DescribeQuery | ShowTokens | FileStatement | WriteStatement | VariableStatement
)
_IN_CATALOG_MAX = 2
"""Parts of a name without the catalog's."""


def bind(statement: SingleStatement, binder: Binder) -> BoundStatement | Unevaluated:
    """Resolve what `statement` names, or say of which expressions `binder` has to know the values first.

    Raises the catalog's and the log's errors, by name.
    """
    if isinstance(statement, CreateView) and statement.alters:
        found = binder.state.temporary_view(statement.view_parts)
        is_shared = found is not None and is_global(found.name)
        statement = replace(statement, temporary=found is not None, shared=is_shared)
    statement, functions = binder.functions.in_statement(statement, binder.state.current)
    time_ms = None
    try:
        if isinstance(statement, AnsweredStatement):
            target, relations = None, _shown(statement, binder)
        else:
            target, relations = _named(statement, binder)
        if isinstance(statement, Call) and statement.time is not None:
            time_ms = read_time(statement.time, binder.values)
    except ValueNeeded as needed:
        return Unevaluated(needed.expressions)
    return BoundStatement(
        statement=statement,
        state=binder.state,
        view=binder.view,
        relations=relations,
        target=target,
        functions=functions,
        securable=_securable(statement, binder),
        time_ms=time_ms,
        knows_user=binder.activity.knows_user,
    )


def _securable(statement: SingleStatement, binder: Binder) -> SecurableEntry | None:
    match statement:
        case GrantRights(securable=name) | RevokeRights(securable=name) | AlterOwner(securable=name):
            return bind_securable(name, binder)
        case AlterTags(securable=name) | CreatePolicy(securable=name) | DropPolicy(securable=name):
            return bind_securable(name, binder)
        case ShowPolicies(securable=name) | DescribePolicy(securable=name):
            return bind_securable(name, binder)
        case ShowGrants(securable=SecurableName() as name):
            return bind_securable(name, binder)
        case DropLocation(name=location, if_exists=if_exists):
            return bind_location(location, binder, if_exists=if_exists)
        case DropFunction():
            return bind_dropped_function(statement, binder)
        case DescribeFunction(function_parts=parts):
            return bind_described_function(parts, binder)
        case DropVolume(volume_parts=parts, if_exists=if_exists):
            return bind_volume(parts, binder, if_exists=if_exists)
        case DescribeVolume(volume_parts=parts) | RenameVolume(volume_parts=parts):
            return bind_volume(parts, binder, if_exists=False)
        case CommentOn(kind=Commentable.VOLUME, parts=parts):
            return bind_volume(parts, binder, if_exists=False)
        case GetFile(path=path) | ChangeFile(path=path) | ListVolume(path=path):
            return volume_of_path(parse_volume_path(path), binder.view)
        case _:
            return None


def _is_view(parts: tuple[str, ...], binder: Binder) -> bool:
    """Returns whether a name, which is no path, means a view of the catalog. Raises `TableNotFound`."""
    if path_of(parts) is not None or binder.state.temporary_view(parts) is not None:
        return False
    return isinstance(binder.view.resolve(TableName.from_parts(parts, binder.state.current)), ViewEntry)


def _named(statement: _Named, binder: Binder) -> tuple[Target | None, tuple[BoundRelation, ...]]:
    """What the statement writes, makes or drops, and the relations that it reads."""
    if isinstance(statement, AlterTags) and statement.column is not None:
        is_view = isinstance(bind_securable(statement.securable, binder), ViewEntry)
        return None if is_view else binder.table(statement.securable.parts), ()
    if isinstance(statement, _Unbound):
        return None, ()
    current = binder.state.current
    if isinstance(statement, TableStatement):
        return binder.table(statement.table_parts), ()
    match statement:
        case Query() | Explain() | DescribeQuery() | SetVariables() | EvaluateQuery():
            return None, binder.relations(_query_of(statement).relations, current)
        case CreateView():
            return None, _viewed(statement, binder)
        case CreateTable() | CreateTableLike() | CloneTable():
            return _made(statement, binder)
        case Insert(table_parts=parts, source=source):
            return binder.table(parts), binder.relations(source.relations, current)
        case ExplainWrite(inner=inner):
            return _named(inner, binder)
        case CommentOn(kind=Commentable.COLUMN, parts=parts):
            return (None if _is_view(parts[:-1], binder) else binder.table(parts[:-1])), ()
        case CommentOn(kind=Commentable.TABLE, parts=parts):
            return binder.table(parts), ()
        case AlterTable():
            return _altered(statement, binder)
        case AlterRowFilter(table_parts=parts, call=call) | AlterColumnMask(table_parts=parts, call=call):
            table = binder.table(parts)
            return table, () if call is None else _probed(table, call, binder)
        case CreateFunction(probe=probe):
            return None, binder.relations(probe.relations, current)
        case Delete(table_parts=parts, rows=rows):
            return binder.table(parts), binder.relations(rows.query.relations, current)
        case Update(table_parts=parts, rows=rows, values=values):
            named = (*rows.query.relations, *values.query.relations)
            return binder.table(parts), binder.relations(named, current)
        case Merge(table_parts=parts) as merge:
            named = tuple(relation for query in merge.queries for relation in query.relations)
            return binder.table(parts), binder.relations(named, current)
        case RestoreTable(table_parts=parts, to=to):
            return binder.table(parts), (binder.restored(parts, to),)
        case CopyInto(table_parts=parts):
            target = binder.table(parts)
            return target, (bind_files(statement, target, binder.view, binder.files),)
        case ConvertTable(path=None, table_parts=parts):
            return binder.table(parts), ()
        case ConvertTable(table_parts=parts):
            return new_table(binder, parts, None), ()
        case DropTable(table_parts=parts, if_exists=if_exists):
            return dropped(binder, parts, if_exists), ()
        case Call(procedure=AddFiles(source_parts=tuple(source))):
            source = _in_catalog(source, statement.catalog, current)
            return _called(statement, binder), (binder.relation(source, None, current),)
        case Call() | RegisterTable():
            return _called(statement, binder), ()
        case SnapshotTable(source_parts=source, catalog=catalog, location=location):
            source = _in_catalog(source, catalog, current)
            parts = _in_catalog(statement.table_parts, catalog, current)
            return new_table(binder, parts, location, ICEBERG), (binder.relation(source, None, current),)
        case (
            CommentOn() | DropView() | CreateSchema() | DropSchema() | CreateCatalog() | AlterCatalog() | DropCatalog()
        ):
            return None, ()
        case _:
            assert_never(statement)


def _made(
    statement: CreateTable | CreateTableLike | CloneTable, binder: Binder
) -> tuple[Target | None, tuple[BoundRelation, ...]]:
    """A table that is made or replaced, and what it is made of."""
    current = binder.state.current
    match statement:
        case CreateTable(table_parts=parts, location=location, provider=provider, query=written, mode=mode):
            replaced = replaced_table(binder, parts, location, mode, provider)
            target = replaced or new_table(binder, parts, location, provider)
            if written is None:
                return target, binder.parents(parts, statement.all_keys)
            return target, binder.relations(written.relations, current)
        case CreateTableLike(table_parts=parts, location=location, provider=provider, source_parts=source_parts):
            source = binder.table(source_parts)
            return new_table(binder, parts, location, provider or like_provider(binder, parts, source)), (source,)
        case CloneTable(table_parts=parts, location=location, mode=mode):
            cloned = binder.relation(statement.source_parts, statement.time_travel, current)
            return replaced_table(binder, parts, location, mode) or new_table(binder, parts, location), (cloned,)
        case _:
            assert_never(statement)


def _query_of(statement: Query | Explain | DescribeQuery | SetVariables | EvaluateQuery) -> Query:
    match statement:
        case Query():
            return statement
        case Explain(inner=query) | DescribeQuery(inner=query):
            return query
        case SetVariables(source=query) | EvaluateQuery(query=query):
            return query
        case _:
            assert_never(statement)


def _viewed(statement: CreateView, binder: Binder) -> tuple[BoundRelation, ...]:
    if statement.files is None:
        return binder.relations(statement.query.relations, binder.state.current)
    return (bind_files_at(statement.files, None, binder.view, binder.files),)


def _probed(table: BoundTable, call: PolicyCall, binder: Binder) -> tuple[BoundRelation, ...]:
    """The table whose rows a policy is asked for, as it is, and what the bodies of functions name."""
    own = len([each for each in call.probe.relations if not each.functions])
    return (
        *(table for _ in range(own)),
        *binder.policy_relations(replace(call.probe, relations=call.probe.relations[own:])),
    )


def _called(statement: Call | RegisterTable, binder: Binder) -> Target:
    parts = _in_catalog(statement.table_parts, statement.catalog, binder.state.current)
    if isinstance(statement, RegisterTable):
        return new_table(binder, parts, statement.metadata_file, ICEBERG)
    return binder.table(parts)


def _in_catalog(parts: tuple[str, ...], catalog: str | None, current: SchemaName) -> tuple[str, ...]:
    """The name of a table as a procedure of a catalog is given it."""
    if catalog is None or path_of(parts) is not None or len(parts) > _IN_CATALOG_MAX:
        return parts
    if len(parts) == _IN_CATALOG_MAX:
        return (catalog, *parts)
    is_current = CatalogName(catalog) == current.catalog_name
    return (catalog, current.schema if is_current else DEFAULT_SCHEMA, *parts)


def _named_so(name: str | None) -> Matcher:
    return matches_all if name is None else lambda other: fold(other) == fold(name)


def _altered(statement: AlterTable, binder: Binder) -> tuple[Target | None, tuple[BoundRelation, ...]]:
    """The table, and other tables that the change has to look at."""
    table = binder.table(statement.table_parts)
    match statement.changes[0]:
        case SetLocation(location=location):
            free_path_owners(binder.view, binder.view.ensure_location(location))
            return table, (binder.table((PATH_SCHEMA, location)),)
        case AddKey(key=key):
            return table, binder.parents((), (key,))
        case DropConstraint() | DropKey(columns=()):
            return table, binder.children(table)
        case _:
            return table, ()


def _shown(statement: AnsweredStatement, binder: Binder) -> tuple[BoundRelation, ...]:
    """The tables and views of which the statement tells something."""
    match statement:
        case (
            DescribeTable(table_parts=parts, version=int(version)) | ListFiles(table_parts=parts, version=int(version))
        ):
            return (binder.relation(parts, AsOfVersion(version), binder.state.current),)
        case (
            DescribeTable(table_parts=parts)
            | ShowColumns(table_parts=parts)
            | ShowTblProperties(table_parts=parts)
            | ShowCreateTable(table_parts=parts)
        ):
            return (binder.described(parts),)
        case (
            DescribeDetail(table_parts=parts)
            | DescribeHistory(table_parts=parts)
            | ShowPartitions(table_parts=parts)
            | ListFiles(table_parts=parts)
        ):
            return (binder.table(parts),)
        case ListTables(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            return binder.commented(catalog, jdbc_matcher(schemas), jdbc_matcher(names))
        case FindTables(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            return binder.commented(catalog, any_matcher(schemas), any_matcher(names))
        case ListColumns(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            return tuple(binder.listed(catalog, jdbc_matcher(schemas), jdbc_matcher(names)))
        case FindKeys(table_parts=parts):
            return (binder.described(parts),)
        case ListPrimaryKeys(table=asked) | ListForeignKeys(child=asked):
            return tuple(binder.listed(asked[0], _named_so(asked[1]), _named_so(asked[2])))
        case FindColumns(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            return tuple(binder.listed(catalog, any_matcher(schemas), any_matcher(names)))
        case ShowTableExtended(schema_parts=parts, pattern=pattern):
            return tuple(binder.listed_in(binder.schema(parts), like_matcher(pattern)))
        case ShowCatalogs() | ShowSchemas() | ShowTables() | ShowViews() | ShowFunctions() | ShowCurrentNamespace():
            return ()
        case Refresh(table_parts=named) | ShowAbsent(table_parts=named):
            return () if named is None else (binder.described(named),)
        case FindSchemas() | FindFunctions() | DescribeSchema() | DescribeCatalog() | ListSchemas() | ListFunctions():
            return ()
        case UseSchema() | UseCatalog() | SetSetting() | ShowSettings() | ResetSetting():
            return ()
        case ShowGrants() | ShowGroups() | ShowUsers() | ShowLocations() | DescribeFunction():
            return ()
        case ShowPolicies() | DescribePolicy() | ShowVolumes() | DescribeVolume():
            return ()
        case _:
            assert_never(statement)
