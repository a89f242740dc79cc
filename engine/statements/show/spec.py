"""Registers SHOW for names, columns, properties, partitions and definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import like_matcher
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, BoundView
from engine.runtime.session_state import is_temporary
from engine.statements.show.execution import show
from engine.statements.show.execution_create_table import show_create_table
from engine.statements.show.execution_tables import show_partitions, show_table_extended, show_tbl_properties
from engine.statements.show.statement import (
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
from engine.statements.spec import StatementSpec, answer_spec, effect, unrestricted


def _describe(statement: ShowColumns | ShowTblProperties | ShowCreateTable, binder: Binder) -> BoundNames:
    return BoundNames(relations=(binder.bind_for_columns(statement.table_parts),))


def _list_extended(statement: ShowTableExtended, binder: Binder) -> BoundNames:
    schema = binder.schema(statement.schema_parts)
    return BoundNames(relations=tuple(binder.listed_in(schema, like_matcher(statement.pattern))))


def _require_views(bound: BoundStatement, _: ShowCreateTable) -> Iterable[Requirement]:
    """Requires MANAGE on a view, whose text may reveal more than its rows."""
    views = [each.entry for each in bound.named if isinstance(each, BoundView)]
    return [RequiredPrivilege(Privilege.MANAGE, view) for view in views if not is_temporary(view.name)]


_NAMES_ALONE = effect(PolicyEffect.NONE, "SHOW")

SPECS: tuple[StatementSpec[Any], ...] = (
    unrestricted(
        ShowCatalogs,
        "SHOW CATALOGS",
        syntax="SHOW CATALOGS [[LIKE] 'pattern']",
        example="SHOW CATALOGS",
        answer=show,
    ),
    unrestricted(
        ShowSchemas,
        "SHOW SCHEMAS",
        syntax="SHOW {SCHEMAS | DATABASES | NAMESPACES} [{IN | FROM} catalog] [[LIKE] 'pattern']",
        example="SHOW SCHEMAS LIKE 'sales*'",
        answer=show,
    ),
    unrestricted(
        ShowTables,
        "SHOW TABLES",
        syntax="SHOW TABLES [{IN | FROM} schema] [[LIKE] 'pattern']",
        example="SHOW TABLES IN sales LIKE 'order*'",
        answer=show,
    ),
    unrestricted(
        ShowTableExtended,
        "SHOW TABLE EXTENDED",
        syntax="SHOW TABLE EXTENDED [{IN | FROM} schema] LIKE 'pattern'",
        example="SHOW TABLE EXTENDED LIKE 'orders'",
        bind=_list_extended,
        answer=show_table_extended,
    ),
    unrestricted(
        ShowViews,
        "SHOW VIEWS",
        syntax="SHOW VIEWS [{IN | FROM} schema] [[LIKE] 'pattern']",
        example="SHOW VIEWS",
        answer=show,
    ),
    unrestricted(
        ShowColumns,
        "SHOW COLUMNS",
        syntax="SHOW COLUMNS {IN | FROM} table [{IN | FROM} schema]",
        example="SHOW COLUMNS IN orders",
        bind=_describe,
        answer=show,
    ),
    unrestricted(
        ShowFunctions,
        "SHOW FUNCTIONS",
        syntax="SHOW [USER | SYSTEM | ALL] FUNCTIONS [{IN | FROM} schema] [[LIKE] 'pattern']",
        example="SHOW USER FUNCTIONS",
        answer=show,
    ),
    unrestricted(
        ShowCurrentNamespace,
        "SHOW CURRENT NAMESPACE",
        syntax="SHOW CURRENT NAMESPACE",
        example="SHOW CURRENT NAMESPACE",
        answer=show,
    ),
    unrestricted(
        ShowTblProperties,
        "SHOW TBLPROPERTIES",
        syntax="SHOW TBLPROPERTIES table [('key')]",
        example="SHOW TBLPROPERTIES orders",
        bind=_describe,
        answer=show_tbl_properties,
    ),
    answer_spec(
        ShowPartitions,
        "SHOW PARTITIONS",
        syntax="SHOW PARTITIONS table [PARTITION (column = value, …)]",
        example="SHOW PARTITIONS orders",
        bind=lambda statement, binder: BoundNames(relations=(binder.table(statement.table_parts),)),
        required_privileges=lambda bound, _: reads(bound.relations),
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "SHOW PARTITIONS"),
        answer=show_partitions,
    ),
    answer_spec(
        ShowCreateTable,
        "SHOW CREATE TABLE",
        syntax="SHOW CREATE TABLE {table | view}",
        example="SHOW CREATE TABLE orders",
        bind=_describe,
        required_privileges=_require_views,
        policy_effects=_NAMES_ALONE,
        answer=show_create_table,
    ),
)
