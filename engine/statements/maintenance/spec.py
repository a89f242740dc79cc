"""Registers the statements that maintain a table's files and log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import on_target
from engine.binding.bound import BoundNames, BoundStatement
from engine.statements.maintenance.statement import (
    AnalyzeTable,
    GenerateManifest,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    bind_table,
    change_spec,
    effect,
    planned_by_format,
    require_on_target,
)


def _require_rewrite(bound: BoundStatement, statement: Optimize | Reorg) -> Iterable[Requirement]:
    """Requires SELECT too for a condition: the number of selected files reveals their contents."""
    yield from on_target(bound, Privilege.MODIFY)
    if statement.condition is not None:
        yield from on_target(bound, Privilege.SELECT)


def _effects_of_rewrite(_: BoundStatement, statement: Optimize | Reorg) -> Iterable[Effect]:
    name = "OPTIMIZE" if isinstance(statement, Optimize) else "REORG TABLE"
    if statement.condition is None:
        yield Effect(PolicyEffect.REARRANGES_FILES, name)
    else:
        yield Effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, f"{name} WHERE")


def _effects_of_removal(_: BoundStatement, statement: Vacuum | RepairTable) -> Iterable[Effect]:
    name = "VACUUM" if isinstance(statement, Vacuum) else "FSCK REPAIR TABLE"
    if statement.dry_run:
        yield Effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, f"{name} DRY RUN")
    else:
        yield Effect(PolicyEffect.REARRANGES_FILES, name)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        Optimize,
        "OPTIMIZE",
        syntax="OPTIMIZE table [FULL] [WHERE condition] [ZORDER BY (columns)]",
        example="OPTIMIZE orders",
        bind=bind_table,
        required_privileges=_require_rewrite,
        policy_effects=_effects_of_rewrite,
        plan=planned_by_format,
        reports_work=True,
        repetition=Repetition.AGAIN,
        answers_rows=True,
    ),
    change_spec(
        Reorg,
        "REORG TABLE",
        syntax="REORG TABLE table [WHERE condition] APPLY (PURGE)",
        example="REORG TABLE orders APPLY (PURGE)",
        bind=bind_table,
        required_privileges=_require_rewrite,
        policy_effects=_effects_of_rewrite,
        plan=planned_by_format,
        reports_work=True,
        repetition=Repetition.AGAIN,
        answers_rows=True,
    ),
    change_spec(
        Vacuum,
        "VACUUM",
        syntax="VACUUM {table | 'path'} [LITE | FULL] [RETAIN n HOURS] [DRY RUN]",
        example="VACUUM orders RETAIN 168 HOURS",
        bind=bind_table,
        required_privileges=require_on_target(Privilege.MODIFY),
        policy_effects=_effects_of_removal,
        plan=planned_by_format,
        reports_work=True,
        repetition=Repetition.AGAIN,
        answers_rows=True,
    ),
    change_spec(
        RestoreTable,
        "RESTORE",
        syntax="RESTORE [TABLE] {table | 'path'} [TO] {VERSION | TIMESTAMP} AS OF version",
        example="RESTORE TABLE orders TO VERSION AS OF 3",
        bind=lambda statement, binder: BoundNames(
            target=binder.table(statement.table_parts),
            relations=(binder.bind_version_to_restore(statement.table_parts, statement.to),),
        ),
        required_privileges=require_on_target(Privilege.MANAGE),
        policy_effects=effect(PolicyEffect.ADMINISTERS, "RESTORE"),
        plan=planned_by_format,
        reports_work=True,
        repetition=Repetition.DEFINITION,
        answers_rows=True,
    ),
    change_spec(
        RepairTable,
        "FSCK REPAIR TABLE",
        syntax="FSCK REPAIR TABLE {table | 'path'} [DRY RUN]",
        example="FSCK REPAIR TABLE orders DRY RUN",
        bind=bind_table,
        required_privileges=require_on_target(Privilege.MANAGE),
        policy_effects=_effects_of_removal,
        plan=planned_by_format,
        reports_work=True,
        repetition=Repetition.AGAIN,
        answers_rows=True,
    ),
    change_spec(
        GenerateManifest,
        "GENERATE",
        syntax="GENERATE symlink_format_manifest FOR TABLE {table | 'path'}",
        example="GENERATE symlink_format_manifest FOR TABLE orders",
        bind=bind_table,
        required_privileges=require_on_target(Privilege.MODIFY),
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, "GENERATE"),
        plan=planned_by_format,
        repetition=Repetition.AGAIN,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        AnalyzeTable,
        "ANALYZE TABLE",
        syntax="ANALYZE TABLE table COMPUTE [DELTA] STATISTICS [NOSCAN | FOR COLUMNS columns | FOR ALL COLUMNS]",
        example="ANALYZE TABLE orders COMPUTE STATISTICS",
        bind=bind_table,
        required_privileges=require_on_target(Privilege.MODIFY),
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_TARGET, "ANALYZE TABLE"),
        plan=planned_by_format,
        repetition=Repetition.AGAIN,
        answers_rows=True,
        reports_work=False,
    ),
)
