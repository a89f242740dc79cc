"""Bind: names → catalog entries → one pinned snapshot per table. The only maker of a `BoundStatement`.

Columns, types and functions are not bound here; Spark analyses them.
"""

from __future__ import annotations

from typing import assert_never

from catalog.names import (
    PATH_SCHEMA,
    any_matcher,
    jdbc_matcher,
    like_matcher,
)
from engine.bind.binder import Binder
from engine.bind.bound import (
    BoundStatement,
    Target,
)
from engine.bind.time_travel import Unevaluated, ValueNeeded
from engine.statements.alters import AlterTable, SetLocation
from engine.statements.catalog import (
    Commentable,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateView,
    DropCatalog,
    DropSchema,
    DropView,
)
from engine.statements.queries import (
    DescribeQuery,
    Explain,
    Query,
)
from engine.statements.session import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
from engine.statements.shows import (
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
    FindColumns,
    FindSchemas,
    FindTables,
    ListColumns,
    ListFunctions,
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
from engine.statements.statement import AnyStatement
from engine.statements.tables import CreateTable, CreateTableLike, DropTable
from engine.statements.writes import Insert, TruncateTable


def bind(statement: AnyStatement, binder: Binder) -> BoundStatement | Unevaluated:
    """Resolve what `statement` names, or say of which expressions `binder` has to know the values first.

    Raises the catalog's and the log's errors, by name.
    """
    try:
        return _bind(statement, binder)
    except ValueNeeded as needed:
        return Unevaluated(needed.expressions)


def _bind(statement: AnyStatement, binder: Binder) -> BoundStatement:
    state = binder.state
    target: Target | None = None
    match statement:
        case Query(relations=relations):
            bound = binder.relations(relations, state.current)
        case Explain(inner=query) | DescribeQuery(inner=query):
            bound = binder.relations(query.relations, state.current)
        case CreateView(query=query):
            bound = binder.relations(query.relations, state.current)
        case CreateTable(table_parts=parts, location=location, query=written, mode=mode):
            target = binder.replaced_table(parts, location, mode) or binder.new_table(parts, location)
            bound = binder.relations(written.relations, state.current) if written else ()
        case Insert(table_parts=parts, source=source):
            target, bound = binder.table(parts), binder.relations(source.relations, state.current)
        case CommentOn(kind=Commentable.COLUMN, parts=parts):
            target, bound = binder.table(parts[:-1]), ()
        case AlterTable(table_parts=parts, changes=(SetLocation(location=location),)):
            target, bound = binder.table(parts), (binder.table((PATH_SCHEMA, location)),)
        case TruncateTable(table_parts=parts) | AlterTable(table_parts=parts):
            target, bound = binder.table(parts), ()
        case CreateTableLike(table_parts=parts, location=location, source_parts=source_parts):
            target, bound = binder.new_table(parts, location), (binder.table(source_parts),)
        case CommentOn(kind=Commentable.TABLE, parts=parts):
            target, bound = binder.table(parts), ()
        case DropTable(table_parts=parts, if_exists=if_exists):
            target, bound = binder.dropped(parts, if_exists), ()
        case DescribeTable(table_parts=parts) | ShowColumns(table_parts=parts):
            bound = (binder.relation(parts, None, state.current),)
        case (
            DescribeDetail(table_parts=parts)
            | DescribeHistory(table_parts=parts)
            | ShowTblProperties(table_parts=parts)
            | ShowPartitions(table_parts=parts)
            | ShowCreateTable(table_parts=parts)
        ):
            bound = (binder.table(parts),)
        case ListColumns(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            bound = tuple(binder.listed(catalog, jdbc_matcher(schemas), jdbc_matcher(names)))
        case FindColumns(catalog=catalog, schema_pattern=schemas, table_pattern=names):
            bound = tuple(binder.listed(catalog, any_matcher(schemas), any_matcher(names)))
        case ShowTableExtended(schema_parts=parts, pattern=pattern):
            bound = tuple(binder.listed_in(binder.schema(parts), like_matcher(pattern)))
        case (
            DropView()
            | CreateSchema()
            | DropSchema()
            | CreateCatalog()
            | DropCatalog()
            | CommentOn()
            | ShowCatalogs()
            | ShowSchemas()
            | ShowTables()
            | ShowViews()
            | ShowFunctions()
            | ShowCurrentNamespace()
            | FindSchemas()
            | FindTables()
            | DescribeSchema()
            | ListSchemas()
            | ListTables()
            | ListFunctions()
            | UseSchema()
            | UseCatalog()
            | SetSetting()
            | ShowSettings()
            | ResetSetting()
        ):
            bound = ()
        case _:
            assert_never(statement)
    return BoundStatement(statement=statement, state=state, view=binder.view, relations=bound, target=target)
