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

# Plans that return rows, or change only names.
AnsweringPlan = (
    ReadPlan
    | EqualityDeletesPlan
    | AnswerPlan
    | ExplainPlan
    | SchemaPlan
    | CommandPlan
    | CommittedPlan
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
