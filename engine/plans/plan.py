"""The closed union of all plans."""

from __future__ import annotations

from engine.plans.ddl import (
    AlterPlan,
    CatalogPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    CreateViewPlan,
    DropFeaturePlan,
    DropSchemaPlan,
    DropTablePlan,
    DropTemporaryViewPlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
)
from engine.plans.reads import AnswerPlan, CommandPlan, ExplainPlan, ReadPlan, SchemaPlan
from engine.plans.writes import InsertPlan, TruncatePlan

Plan = (
    ReadPlan
    | AnswerPlan
    | ExplainPlan
    | SchemaPlan
    | CommandPlan
    | CatalogPlan
    | CreateViewPlan
    | DropTemporaryViewPlan
    | CreateTablePlan
    | DropSchemaPlan
    | DropTablePlan
    | InsertPlan
    | TruncatePlan
    | CreateTableAsPlan
    | ReplaceTablePlan
    | ReplaceTableAsPlan
    | AlterPlan
    | DropFeaturePlan
    | SyncIdentityPlan
)
