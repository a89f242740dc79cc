"""Which function answers which statement: the table of all statements that Spark has no part in."""

from __future__ import annotations

from typing import assert_never

from engine.bind.bound import BoundStatement, Outcome
from engine.statements.compatibility.execution import answer_foreign
from engine.statements.compatibility.statement import Refresh, ShowAbsent
from engine.statements.describe.execution import (
    describe_catalog,
    describe_detail,
    describe_function,
    describe_history,
    describe_schema,
    describe_table,
)
from engine.statements.describe.statement import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
)
from engine.statements.functions.statement import DescribeFunction
from engine.statements.grants.execution import answer_rights
from engine.statements.grants.statement import ShowGrants, ShowGroups, ShowLocations, ShowUsers
from engine.statements.listings.execution import list_objects
from engine.statements.listings.execution_files import list_files
from engine.statements.listings.execution_find import find_objects
from engine.statements.listings.execution_keys import find_keys, list_keys
from engine.statements.listings.statement import (
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
)
from engine.statements.policies.execution import answer_policies
from engine.statements.policies.statement import DescribePolicy, ShowPolicies
from engine.statements.session.execution import reset_setting, set_setting, show_settings, use_catalog, use_schema
from engine.statements.session.statement import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
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
from engine.statements.statement import AnsweredStatement
from engine.statements.volumes.execution import answer_volumes
from engine.statements.volumes.statement import DescribeVolume, ShowVolumes


def answer(statement: AnsweredStatement, bound: BoundStatement) -> Outcome:
    """Answer `bound`, of a statement that Spark has no part in."""
    match statement:
        case UseCatalog():
            return use_catalog(bound, statement)
        case UseSchema():
            return use_schema(bound, statement)
        case SetSetting():
            return set_setting(bound, statement)
        case ShowSettings():
            return show_settings(bound, statement)
        case ResetSetting():
            return reset_setting(bound, statement)
        case DescribeTable():
            return describe_table(bound, statement)
        case DescribeFunction():
            return describe_function(bound, statement)
        case DescribeCatalog():
            return describe_catalog(bound, statement)
        case DescribeSchema():
            return describe_schema(bound, statement)
        case DescribeDetail():
            return describe_detail(bound, statement)
        case ListFiles():
            return list_files(bound, statement)
        case DescribeHistory():
            return describe_history(bound, statement)
        case ShowTblProperties():
            return show_tbl_properties(bound, statement)
        case ShowPartitions():
            return show_partitions(bound, statement)
        case ShowCreateTable():
            return show_create_table(bound, statement)
        case ShowTableExtended():
            return show_table_extended(bound, statement)
        case ShowCatalogs() | ShowSchemas() | ShowTables() | ShowViews() | ShowCurrentNamespace():
            return show(bound, statement)
        case ShowColumns() | ShowFunctions():
            return show(bound, statement)
        case FindSchemas() | FindTables() | FindColumns() | FindFunctions():
            return find_objects(bound, statement)
        case FindKeys():
            return find_keys(bound, statement)
        case ListPrimaryKeys() | ListForeignKeys():
            return list_keys(bound, statement)
        case ShowGrants() | ShowGroups() | ShowUsers() | ShowLocations():
            return answer_rights(bound, statement)
        case ShowPolicies() | DescribePolicy():
            return answer_policies(bound, statement)
        case ShowVolumes() | DescribeVolume():
            return answer_volumes(bound, statement)
        case Refresh() | ShowAbsent():
            return answer_foreign(statement)
        case ListSchemas() | ListTables() | ListColumns() | ListFunctions():
            return list_objects(bound, statement)
        case _:
            assert_never(statement)
