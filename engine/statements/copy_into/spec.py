"""Register COPY INTO."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from catalog.grants.conditions import AnyNeed
from catalog.grants.privileges import Privilege
from engine.authorization.needs import on_target, reads
from engine.authorization.policies import PolicyEffect
from engine.binding.binder import Binder
from engine.binding.bound import BoundFiles, BoundNames, BoundStatement, BoundTable
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.statements.copy_into.binding import bind_files
from engine.statements.copy_into.planning import columns_plan, plan_copy, with_columns
from engine.statements.copy_into.statement import CopyInto
from engine.statements.insert.spec import analyze_insert
from engine.statements.spec import StatementSpec, changing, effect, planned_analyzed


def _bind(statement: CopyInto, binder: Binder) -> BoundNames:
    target = binder.table(statement.table_parts)
    return BoundNames(target=target, relations=(bind_files(statement, target, binder.view, binder.files),))


def _require(bound: BoundStatement, _: CopyInto) -> Iterable[AnyNeed]:
    return (*on_target(bound, Privilege.MODIFY), *reads(bound.relations))


def _analyze(bound: BoundStatement, statement: CopyInto, analyzer: Analyzer) -> AnalyzedStatement:
    """The one statement for which Spark looks into files at this stage: nothing else says which columns they have."""
    (files,) = bound.relations
    assert isinstance(files, BoundFiles)
    if not files.files.num_rows:
        return AnalyzedStatement(bound=bound)
    assert isinstance(bound.target, BoundTable)
    known = with_columns(files, analyzer.columns_of(columns_plan(files)), statement, bound.target)
    return analyze_insert(replace(bound, relations=(known,)), statement.insert, analyzer)


SPECS: tuple[StatementSpec[Any], ...] = (
    changing(
        CopyInto,
        "COPY INTO",
        syntax="COPY INTO table [BY POSITION | (columns)] FROM {'path' | (SELECT … FROM 'path')} FILEFORMAT = format "
        "[VALIDATE …] [FILES = (…) | PATTERN = '…'] [FORMAT_OPTIONS (…)] [COPY_OPTIONS (…)]",
        example="COPY INTO orders FROM '/landing/orders' FILEFORMAT = PARQUET",
        bind=_bind,
        required_privileges=_require,
        # Which files were loaded before is in the table's log.
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, "COPY INTO"),
        analyze=_analyze,
        plan=planned_analyzed(plan_copy),
        answers_rows=True,
        reports_work=False,
    ),
)
