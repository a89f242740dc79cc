"""Analyse: the statement's query over the pinned tables, and its columns and types where the plan depends on them.

Spark's analyser runs, under the guard, and no job. A plan is therefore made of values: what a table gets from a query
is known when it is planned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, assert_never

from engine.analyze.analyzed import AnalyzedStatement
from engine.bind.bound import AuthorizedStatement, BoundFiles, BoundStatement, BoundTable, TakenName
from engine.plan.reads.read_plan import read_plan
from engine.plan.rules.file_columns import columns_plan, with_columns
from engine.plan.rules.insert_rows import insert_rows
from engine.plan.rules.struct_fields import depends_on_names
from engine.plans.reads import QueryColumn, ReadPlan
from engine.statements.copy_into.statement import CopyInto
from engine.statements.create_table.statement import CreateTable
from engine.statements.explain.statement import Explain, ExplainWrite
from engine.statements.functions.statement import CreateFunction
from engine.statements.grants.statement import RightStatement
from engine.statements.insert.statement import Insert, ReplaceOn
from engine.statements.merge.statement import Merge
from engine.statements.policies.statement import AlterColumnMask, AlterRowFilter
from engine.statements.select.statement import DescribeQuery, Query
from engine.statements.statement import AnsweredStatement, QuerylessStatement
from engine.statements.tokens.statement import TokenStatement
from engine.statements.variables.statement import DeclareVariables, DropVariable, EvaluateQuery, SetVariables
from engine.statements.views.statement import CreateView


class Analyzer(Protocol):
    """What asks Spark."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        """The columns that `plan` would answer; nothing runs."""

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        """The names of the session variables that `plan` reads; nothing runs."""


def analyze(authorized: AuthorizedStatement, analyzer: Analyzer) -> AnalyzedStatement:
    """Raises what Spark says of the query, and what the guard refuses."""
    bound, statement = authorized.bound, authorized.bound.statement
    if isinstance(statement, AnsweredStatement | QuerylessStatement | RightStatement | TokenStatement):
        return AnalyzedStatement(bound=bound)
    match statement:
        case Query() as query:
            return AnalyzedStatement(bound=bound, source=read_plan(query, bound.relations))
        case Explain(inner=query) | DescribeQuery(inner=query):
            return AnalyzedStatement(bound=bound, source=read_plan(query, bound.relations))
        case SetVariables(source=query) | EvaluateQuery(query=query):
            return AnalyzedStatement(bound=bound, source=read_plan(query, bound.relations))
        case CreateView(query=query):
            analyzed = _with_columns(bound, read_plan(query, bound.relations, is_definition=True), analyzer)
            is_own = statement.temporary and not statement.shared
            return analyzed if is_own else replace(analyzed, variables=analyzer.variables_of(analyzed.query))
        case AlterRowFilter(call=call) | AlterColumnMask(call=call):
            if call is None:
                return AnalyzedStatement(bound=bound)
            return _with_columns(bound, read_plan(call.probe, bound.relations), analyzer)
        case CreateFunction(probe=probe):
            return _with_columns(bound, read_plan(probe, bound.relations), analyzer)
        case CreateTable(query=query):
            if query is None or isinstance(bound.target, TakenName):
                return AnalyzedStatement(bound=bound)
            return _with_columns(bound, read_plan(query, bound.relations), analyzer)
        case Merge(source=source) | ExplainWrite(inner=Merge(source=source)):
            read = read_plan(source, bound.relations[: len(source.relations)])
            return _with_columns(bound, read, analyzer)
        case (Insert() as insert) | ExplainWrite(inner=Insert() as insert):
            return _insert(bound, insert, analyzer)
        case CopyInto() as copy:
            return _copy(bound, copy, analyzer)
        case DeclareVariables() | DropVariable() | ExplainWrite():
            return AnalyzedStatement(bound=bound)
        case _:
            assert_never(statement)


def _with_columns(bound: BoundStatement, source: ReadPlan, analyzer: Analyzer) -> AnalyzedStatement:
    return AnalyzedStatement(bound=bound, source=source, columns=analyzer.columns_of(source))


def _copy(bound: BoundStatement, statement: CopyInto, analyzer: Analyzer) -> AnalyzedStatement:
    """The one statement for which Spark looks into files at this stage: nothing else says which columns they have."""
    (files,) = bound.relations
    assert isinstance(files, BoundFiles)
    if not files.files.num_rows:
        return AnalyzedStatement(bound=bound)
    assert isinstance(bound.target, BoundTable)
    known = with_columns(files, analyzer.columns_of(columns_plan(files)), statement, bound.target)
    return _insert(replace(bound, relations=(known,)), statement.insert, analyzer)


def _insert(bound: BoundStatement, statement: Insert, analyzer: Analyzer) -> AnalyzedStatement:
    found = insert_rows(bound, statement)
    source, *more = found.sources(read_plan(statement.source, bound.relations, found.edits))
    names_fields = depends_on_names(found.rows.config, statement)
    needs_columns = statement.by_name or found.evolves or names_fields or isinstance(statement.replace, ReplaceOn)
    columns = analyzer.columns_of(source) if needs_columns else None
    return AnalyzedStatement(bound=bound, source=source, columns=columns, insert=found, more_sources=tuple(more))
