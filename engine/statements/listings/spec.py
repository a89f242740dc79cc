"""Registers the listings that drivers request: protocol calls, and SHOW … IN CATALOG."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import Requirement
from catalog.names import Matcher, any_matcher, fold, jdbc_matcher, matches_all
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.sql.query.values import AsOfVersion
from engine.statements.listings.execution import list_files, list_objects
from engine.statements.listings.execution_entries import list_entries
from engine.statements.listings.execution_find import find_objects
from engine.statements.listings.execution_keys import find_keys, list_checks, list_keys
from engine.statements.listings.execution_lineage import list_lineage
from engine.statements.listings.execution_statistics import list_column_statistics
from engine.statements.listings.statement import (
    FindColumns,
    FindFunctions,
    FindKeys,
    FindSchemas,
    FindTables,
    ListChecks,
    ListColumns,
    ListColumnStatistics,
    ListEntries,
    ListFiles,
    ListForeignKeys,
    ListFunctions,
    ListLineage,
    ListPrimaryKeys,
    ListSchemas,
    ListTables,
    TablePattern,
)
from engine.statements.spec import StatementSpec, answer_spec, effect, unrestricted


def _find_tables(statement: FindTables, binder: Binder) -> BoundNames:
    schemas, names = any_matcher(statement.schema_pattern), any_matcher(statement.table_pattern)
    return BoundNames(relations=binder.relations_with_comments(statement.catalog, schemas, names))


def _find_columns(statement: FindColumns, binder: Binder) -> BoundNames:
    schemas, names = any_matcher(statement.schema_pattern), any_matcher(statement.table_pattern)
    return BoundNames(relations=tuple(binder.matching_relations(statement.catalog, schemas, names)))


def _list_tables(statement: ListTables, binder: Binder) -> BoundNames:
    schemas, names = jdbc_matcher(statement.schema_pattern), jdbc_matcher(statement.table_pattern)
    return BoundNames(relations=binder.relations_with_comments(statement.catalog, schemas, names))


def _list_columns(statement: ListColumns, binder: Binder) -> BoundNames:
    schemas, names = jdbc_matcher(statement.schema_pattern), jdbc_matcher(statement.table_pattern)
    return BoundNames(relations=tuple(binder.matching_relations(statement.catalog, schemas, names)))


def _list_keys(pattern: TablePattern, binder: Binder) -> BoundNames:
    return BoundNames(
        relations=tuple(binder.matching_relations(pattern[0], _name_matcher(pattern[1]), _name_matcher(pattern[2])))
    )


def _name_matcher(name: str | None) -> Matcher:
    return matches_all if name is None else lambda other: fold(other) == fold(name)


def _list_files(statement: ListFiles | ListColumnStatistics, binder: Binder) -> BoundNames:
    if statement.version is None:
        return BoundNames(relations=(binder.table(statement.table_parts),))
    time_travel = AsOfVersion(statement.version)
    return BoundNames(relations=(binder.relation(statement.table_parts, time_travel, binder.state.current),))


def _require_reads(bound: BoundStatement, _: ListFiles | ListColumnStatistics) -> Iterable[Requirement]:
    return reads(bound.relations)


SPECS: tuple[StatementSpec[Any], ...] = (
    unrestricted(
        FindSchemas,
        "SHOW SCHEMAS IN CATALOG",
        syntax="SHOW SCHEMAS IN {CATALOG catalog | ALL CATALOGS} [[LIKE] 'pattern']",
        example="SHOW SCHEMAS IN ALL CATALOGS",
        answer=find_objects,
    ),
    unrestricted(
        FindTables,
        "SHOW TABLES IN CATALOG",
        syntax="SHOW TABLES IN {CATALOG catalog | ALL CATALOGS} [SCHEMA LIKE 'pattern'] [[TABLE] LIKE 'pattern']",
        example="SHOW TABLES IN CATALOG sales SCHEMA LIKE 'daily'",
        bind=_find_tables,
        answer=find_objects,
    ),
    unrestricted(
        FindColumns,
        "SHOW COLUMNS IN CATALOG",
        syntax="SHOW COLUMNS IN {CATALOG catalog | ALL CATALOGS} [SCHEMA LIKE 'pattern'] [TABLE LIKE 'pattern'] "
        "[LIKE 'pattern']",
        example="SHOW COLUMNS IN CATALOG sales TABLE LIKE 'orders'",
        bind=_find_columns,
        answer=find_objects,
    ),
    unrestricted(
        FindFunctions,
        "SHOW FUNCTIONS IN CATALOG",
        syntax="SHOW FUNCTIONS IN {CATALOG catalog | ALL CATALOGS} [SCHEMA LIKE 'pattern'] [LIKE 'pattern']",
        example="SHOW FUNCTIONS IN ALL CATALOGS",
        answer=find_objects,
    ),
    unrestricted(
        FindKeys,
        "SHOW KEYS",
        syntax="SHOW [PRIMARY | FOREIGN] KEYS {IN | FROM} table",
        example="SHOW PRIMARY KEYS IN orders",
        bind=lambda statement, binder: BoundNames(relations=(binder.bind_for_columns(statement.table_parts),)),
        answer=find_keys,
    ),
    unrestricted(
        ListSchemas,
        "A list of schemas",
        syntax="",
        example="",
        answer=list_objects,
    ),
    unrestricted(
        ListTables,
        "A list of tables",
        syntax="",
        example="",
        bind=_list_tables,
        answer=list_objects,
    ),
    unrestricted(
        ListColumns,
        "A list of columns",
        syntax="",
        example="",
        bind=_list_columns,
        answer=list_objects,
    ),
    unrestricted(
        ListFunctions,
        "A list of functions",
        syntax="",
        example="",
        answer=list_objects,
    ),
    unrestricted(
        ListEntries,
        "A list of catalog entries",
        syntax="",
        example="",
        answer=list_entries,
    ),
    unrestricted(
        ListPrimaryKeys,
        "A list of primary keys",
        syntax="",
        example="",
        bind=lambda statement, binder: _list_keys(statement.table, binder),
        answer=list_keys,
    ),
    unrestricted(
        ListChecks,
        "A list of CHECK constraints",
        syntax="",
        example="",
        bind=lambda statement, binder: _list_keys(statement.table, binder),
        answer=list_checks,
    ),
    unrestricted(
        ListForeignKeys,
        "A list of foreign keys",
        syntax="",
        example="",
        bind=lambda statement, binder: _list_keys(statement.child, binder),
        answer=list_keys,
    ),
    answer_spec(
        ListFiles,
        "A list of files",
        syntax="",
        example="",
        bind=_list_files,
        required_privileges=_require_reads,
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "A list of files"),
        answer=list_files,
    ),
    answer_spec(
        ListColumnStatistics,
        "A list of column statistics",
        syntax="",
        example="",
        bind=_list_files,
        required_privileges=_require_reads,
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "A list of column statistics"),
        answer=list_column_statistics,
    ),
    unrestricted(
        ListLineage,
        "A list of lineage",
        syntax="",
        example="",
        answer=list_lineage,
    ),
)
