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
    CommittedPlan,
    DeclarePlan,
    DropVariablePlan,
    EqualityDeletesPlan,
    EvaluatePlan,
    ExplainPlan,
    ReadPlan,
    SchemaPlan,
)
from engine.planning.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan

# Plans that read, or change the session alone.
SessionPlan = (
    ReadPlan
    | EqualityDeletesPlan
    | AnswerPlan
    | ExplainPlan
    | SchemaPlan
    | CommandPlan
    | CommittedPlan
    | CreateTemporaryViewPlan
    | DropTemporaryViewPlan
    | RenameTemporaryViewPlan
    | CreateTemporaryFunctionPlan
    | DropTemporaryFunctionPlan
    | DeclarePlan
    | AssignPlan
    | DropVariablePlan
    | EvaluatePlan
)

# Plans that change names, or files outside of tables.
CatalogChangePlan = TokenPlan | CatalogPlan | DropSchemaPlan | DropTablePlan | DropVolumePlan | FilePlan

AnsweringPlan = SessionPlan | CatalogChangePlan

# Plans that stage a table version, for any format.
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

WritingPlan = TablePlan | FormatPlan

Plan = AnsweringPlan | WritingPlan
