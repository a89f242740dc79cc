"""The closed union of all plans."""

from __future__ import annotations

from engine.planning.plans.ddl import (
    AlterPlan,
    CatalogPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    CreateTemporaryFunctionPlan,
    CreateTemporaryViewPlan,
    DropSchemaPlan,
    DropTablePlan,
    DropTemporaryFunctionPlan,
    DropTemporaryViewPlan,
    DropVolumePlan,
    FilePlan,
    RenameTemporaryViewPlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
    TokenPlan,
)
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.reads import (
    AnswerPlan,
    AssignPlan,
    CommandPlan,
    DeclarePlan,
    DropVariablePlan,
    EqualityDeletesPlan,
    EvaluatePlan,
    ExplainPlan,
    ReadPlan,
    SchemaPlan,
)
from engine.planning.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan

AnsweringPlan = (
    ReadPlan
    | EqualityDeletesPlan
    | AnswerPlan
    | ExplainPlan
    | SchemaPlan
    | CommandPlan
    | TokenPlan
    | CatalogPlan
    | CreateTemporaryViewPlan
    | DropTemporaryViewPlan
    | RenameTemporaryViewPlan
    | CreateTemporaryFunctionPlan
    | DropTemporaryFunctionPlan
    | DropSchemaPlan
    | DropTablePlan
    | DeclarePlan
    | AssignPlan
    | DropVariablePlan
    | EvaluatePlan
    | DropVolumePlan
    | FilePlan
)
"""Plans that answer, or change nothing but names."""

TablePlan = (
    CreateTablePlan
    | CreateTableAsPlan
    | ReplaceTablePlan
    | ReplaceTableAsPlan
    | AlterPlan
    | SyncIdentityPlan
    | InsertPlan
    | CopyPlan
    | DeletePlan
    | UpdatePlan
    | MergePlan
    | TruncatePlan
)
"""Plans that stage a version of a table of whatever format."""

WritingPlan = TablePlan | FormatPlan

Plan = AnsweringPlan | WritingPlan
