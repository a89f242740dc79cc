"""The closed union of all plans."""

from __future__ import annotations

from engine.plans.ddl import (
    AlterPlan,
    BackfillPlan,
    CatalogPlan,
    ClonePlan,
    ConvertPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    CreateTemporaryViewPlan,
    DropSchemaPlan,
    DropTablePlan,
    DropTemporaryViewPlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    RewritePlan,
    SyncIdentityPlan,
    TruncateHistoryPlan,
)
from engine.plans.maintenance import MaintenancePlan
from engine.plans.optimize import OptimizePlan
from engine.plans.reads import AnswerPlan, CommandPlan, ExplainPlan, ReadPlan, SchemaPlan
from engine.plans.variables import AssignPlan, DeclarePlan, DropVariablePlan, EvaluatePlan
from engine.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan

AnsweringPlan = (
    ReadPlan
    | AnswerPlan
    | ExplainPlan
    | SchemaPlan
    | CommandPlan
    | CatalogPlan
    | CreateTemporaryViewPlan
    | DropTemporaryViewPlan
    | DropSchemaPlan
    | DropTablePlan
    | DeclarePlan
    | AssignPlan
    | DropVariablePlan
    | EvaluatePlan
)
"""Plans that answer, or change nothing but names."""

DefiningPlan = (
    CreateTablePlan
    | CreateTableAsPlan
    | ReplaceTablePlan
    | ReplaceTableAsPlan
    | ClonePlan
    | ConvertPlan
    | AlterPlan
    | BackfillPlan
    | TruncateHistoryPlan
    | RewritePlan
    | SyncIdentityPlan
    | InsertPlan
    | CopyPlan
    | DeletePlan
    | UpdatePlan
    | MergePlan
    | TruncatePlan
    | OptimizePlan
)
"""Plans that stage a version of a table with other rows or another definition."""

WritingPlan = DefiningPlan | MaintenancePlan
"""Plans that stage a version of a table."""

Plan = AnsweringPlan | WritingPlan
