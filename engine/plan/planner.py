"""Plan: what to read and to write, decided from the pinned snapshots alone."""

from __future__ import annotations

from typing import assert_never

from engine.analyze.analyzed import AnalyzedStatement
from engine.bind.bound import BoundStatement, BoundTable
from engine.errors.statement_errors import StatementNotSupported
from engine.formats.planning import FormatPlanners, not_planned, own_plan
from engine.plan.ddl.alters import plan_alter, plan_comment
from engine.plan.ddl.catalog_ddl import (
    plan_alter_catalog,
    plan_comment_on_names,
    plan_create_catalog,
    plan_create_schema,
    plan_create_view,
    plan_drop_catalog,
    plan_drop_schema,
    plan_drop_view,
)
from engine.plan.ddl.functions import plan_function
from engine.plan.ddl.policies import plan_policy
from engine.plan.ddl.replace_tables import plan_replace_table, plan_replace_table_as
from engine.plan.ddl.right_ddl import plan_rights
from engine.plan.ddl.table_ddl import plan_create_table, plan_drop_table
from engine.plan.ddl.view_ddl import plan_alter_view, plan_view_comment
from engine.plan.ddl.volumes import plan_file, plan_volume
from engine.plan.reads.answers import answer_from_log
from engine.plan.rules.variables import plan_assign, plan_declare, plan_drop_variable
from engine.plan.writes.copies import plan_copy
from engine.plan.writes.explained import explain_write
from engine.plan.writes.inserts import plan_create_table_as, plan_insert, plan_truncate
from engine.plan.writes.merges import plan_merge
from engine.plan.writes.row_changes import plan_delete, plan_update
from engine.plans.plan import Plan
from engine.plans.reads import AnswerPlan, CommandPlan, ExplainPlan, SchemaPlan
from engine.plans.tokens import TokenPlan
from engine.plans.variables import EvaluatePlan
from engine.pruning.metadata_answers import NoAnswer
from engine.runtime.settings import HIVE_SHAPE
from engine.statements.alters import AlterTable
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
from engine.statements.copies import CopyInto
from engine.statements.explains import ExplainWrite
from engine.statements.functions import CreateFunction, DropFunction
from engine.statements.merges import Merge
from engine.statements.policies import AlterColumnMask, AlterRowFilter
from engine.statements.queries import DescribeQuery, Explain, Query
from engine.statements.rights import RightStatement, TokenStatement
from engine.statements.statement import AnsweredStatement, FormatStatement
from engine.statements.tables import CreateTable, DropTable
from engine.statements.variables import DeclareVariables, DropVariable, EvaluateQuery, SetVariables
from engine.statements.volumes import ChangeFile, CreateVolume, DropVolume, GetFile, ListVolume, RenameVolume
from engine.statements.writes import Delete, Insert, TruncateTable, Update


def plan_statement(analyzed: AnalyzedStatement, planners: FormatPlanners) -> Plan:
    """The plan of an analysed statement. Raises for what the table, or this release, cannot do.

    `planners` are asked first for what a format of tables may plan by itself.
    """
    bound, statement = analyzed.bound, analyzed.bound.statement
    if isinstance(statement, AnsweredStatement):
        return CommandPlan(statement=statement, bound=bound)
    if isinstance(statement, FormatStatement):
        return _plan_by_format(bound, statement, planners)
    if isinstance(statement, TokenStatement):
        return TokenPlan(statement=statement, identity=bound.state.identity)
    if isinstance(statement, RightStatement):
        return plan_rights(bound, statement)
    match statement:
        case Query() as query:
            answer = answer_from_log(query, bound.relations)
            return analyzed.query if isinstance(answer, NoAnswer) else answer
        case Explain(mode=mode, inner=query):
            return ExplainPlan(mode=mode, read=analyzed.query, note=_said(answer_from_log(query, bound.relations)))
        case ExplainWrite() as explain:
            return explain_write(analyzed, explain)
        case DescribeQuery():
            if bound.state.value(HIVE_SHAPE) == "true":  # pandas takes what can be described for a table's name
                raise StatementNotSupported(f"DESCRIBE of a query in a session with {HIVE_SHAPE}")
            return SchemaPlan(read=analyzed.query)
        case DeclareVariables() as declare:
            return plan_declare(declare)
        case SetVariables() as assign:
            return plan_assign(assign, analyzed.query)
        case DropVariable() as drop_variable:
            return plan_drop_variable(drop_variable)
        case EvaluateQuery():
            return EvaluatePlan(read=analyzed.query)
        case GetFile() | ChangeFile() | ListVolume():
            return plan_file(bound, statement)
        case CreateVolume() | DropVolume() | RenameVolume():
            return plan_volume(bound, statement)
        case CreateView() | AlterView() | DropView() | CreateFunction() | DropFunction():
            return _plan_definition(analyzed, statement)
        case CreateTable() as create_table:
            return _plan_create_table(analyzed, create_table)
        case Insert() as insert:
            return plan_insert(analyzed, insert)
        case CopyInto() as copy:
            return plan_copy(analyzed, copy)
        case Delete() as delete:
            return plan_delete(bound, delete)
        case Update() as update:
            return plan_update(bound, update)
        case Merge() as merge:
            return plan_merge(analyzed, merge)
        case AlterRowFilter() | AlterColumnMask():
            return plan_policy(analyzed, statement)
        case CommentOn(kind=Commentable.COLUMN) as comment if bound.target is None:
            return plan_view_comment(bound, comment)
        case CommentOn(kind=Commentable.TABLE | Commentable.COLUMN) as comment:
            return plan_comment(bound, comment)
        case CommentOn() as comment:
            return plan_comment_on_names(bound, comment)
        case CreateCatalog() | AlterCatalog() | DropCatalog() | CreateSchema() | DropSchema():
            return _plan_container(bound, statement)
        case TruncateTable():
            return plan_truncate(bound)
        case DropTable() as drop_table:
            return plan_drop_table(bound, drop_table)
        case _:
            assert_never(statement)


def _plan_definition(
    analyzed: AnalyzedStatement, statement: CreateView | AlterView | DropView | CreateFunction | DropFunction
) -> Plan:
    match statement:
        case CreateView():
            return plan_create_view(analyzed, statement)
        case AlterView():
            return plan_alter_view(analyzed.bound, statement)
        case DropView():
            return plan_drop_view(analyzed.bound, statement)
        case CreateFunction() | DropFunction():
            return plan_function(analyzed, statement)


def _plan_container(
    bound: BoundStatement, statement: CreateCatalog | AlterCatalog | DropCatalog | CreateSchema | DropSchema
) -> Plan:
    match statement:
        case CreateCatalog():
            return plan_create_catalog(bound, statement)
        case AlterCatalog():
            return plan_alter_catalog(bound, statement)
        case DropCatalog():
            return plan_drop_catalog(bound, statement)
        case CreateSchema():
            return plan_create_schema(bound, statement)
        case DropSchema():
            return plan_drop_schema(bound, statement)


def _plan_by_format(bound: BoundStatement, statement: FormatStatement, planners: FormatPlanners) -> Plan:
    own = own_plan(planners, bound, statement)
    if own is not None:
        return own
    if isinstance(statement, AlterTable):
        return plan_alter(bound, statement)
    raise not_planned(bound, statement)


def _plan_create_table(analyzed: AnalyzedStatement, statement: CreateTable) -> Plan:
    """CREATE TABLE, or a replacement where there is a table to replace; with or without a query."""
    replaces = isinstance(analyzed.bound.target, BoundTable)
    match statement.query:
        case None if replaces:
            return plan_replace_table(analyzed.bound, statement)
        case None:
            return plan_create_table(analyzed.bound, statement)
        case Query() if replaces:
            return plan_replace_table_as(analyzed, statement)
        case Query():
            return plan_create_table_as(analyzed, statement)


def _said(answer: AnswerPlan | NoAnswer) -> str:
    """Whether the log answers, for EXPLAIN."""
    if isinstance(answer, NoAnswer):
        return f"not answered from the log: {answer.reason}"
    return f"answered from the log of {answer.table.label}, version {answer.table.snapshot.version}: no file is read"
