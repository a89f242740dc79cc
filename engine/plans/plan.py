"""The closed union of all plans."""

from __future__ import annotations

from engine.plans.ddl import (
    AlterPlan,
    CatalogPlan,
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
)
from engine.plans.reads import AnswerPlan, CommandPlan, ExplainPlan, ReadPlan, SchemaPlan
from engine.plans.variables import AssignPlan, DeclarePlan, DropVariablePlan, EvaluatePlan
from engine.plans.writes import DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan

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

WritingPlan = (
    CreateTablePlan
    | CreateTableAsPlan
    | ReplaceTablePlan
    | ReplaceTableAsPlan
    | AlterPlan
    | RewritePlan
    | SyncIdentityPlan
    | InsertPlan
    | DeletePlan
    | UpdatePlan
    | MergePlan
    | TruncatePlan
)
"""Plans that stage a version of a table."""

Plan = AnsweringPlan | WritingPlan
