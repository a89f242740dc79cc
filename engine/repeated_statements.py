"""Finds out whether a statement has already been executed before it is executed, perhaps for the second time.

A process that continues the work of another one runs the statements that the other one had begun
(`StatementRequest.is_repeated`). A write to a table is looked up by its transaction id among the table's commits up to
the bound version; later ones are winning commits, which the transaction itself compares with its id. If it is found,
its outcome is answered, and nothing is executed.

The first process looks too if it binds the statement later than `TAKEN_OVER_MS_MIN` after its begin, after a pause or a
conflict, because another process may have taken the statement over by then. A process takes no statement over earlier.

A statement that changes the catalog alone is looked up among the statements that made the newest generations. If they
do not reach back to its begin, or if an external catalog may have been changed, a statement that creates a name is
executed again, and an existing name is reported as an unknown outcome; one that drops a name is executed again if the
object is older than the statement; any other change of the catalog is not repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from catalog.conditions import StatementOutcomeUnknown
from catalog.entries import TableEntry
from catalog.errors import SqlError
from catalog.store.changes import ChangeSearch
from engine.binding.bound import BoundStatement, BoundTable, FreeName, TakenName
from engine.planning.plans.ddl import CatalogPlan
from engine.planning.plans.reads import CommittedPlan
from engine.runtime.request import StatementRequest
from engine.runtime.variables import Scope
from engine.spark.execution_context import ExecutionContext
from engine.statements.create_table.planning import new_entry
from engine.statements.create_table.statement import CreateTable
from engine.statements.insert.statement import MultiInsert
from engine.statements.registry import spec_of
from engine.statements.scripting.statement import RunnableStatement
from engine.statements.spec import Repetition
from engine.statements.variables.statement import DeclareVariables, SetVariables
from engine.tables.snapshot import TableSnapshot

# In ms. The lease of a session has to be longer.
TAKEN_OVER_MS_MIN = 1_000
# The difference that the clocks of two machines may have, in ms.
_CLOCKS_MS = 60_000


def find_commit(
    bound: BoundStatement, repetition: Repetition, context: ExecutionContext
) -> CommittedPlan | CatalogPlan | None:
    """Returns the plan that answers the outcome of the statement's commit; None if it has to be executed.

    Raises `StatementOutcomeUnknown`.
    """
    request = context.request
    if request.transaction_id is None or not (request.is_repeated or _may_be_taken_over(request)):
        return None
    match repetition:
        case Repetition.CREATION | Repetition.REMOVAL | Repetition.CATALOG if has_changed_catalog(repetition, context):
            return CatalogPlan(change=None)
        case Repetition.AGAIN | Repetition.CREATION:
            return None
        case Repetition.CATALOG:
            if request.is_repeated and not _find_change(context).is_complete:
                raise StatementOutcomeUnknown("the catalog does not record all changes since it had begun")
            return None
        case Repetition.REMOVAL:
            if request.is_repeated and _is_younger(bound, request.began_ms):
                raise StatementOutcomeUnknown("an object with the name was created after the statement had begun")
            return None
        case Repetition.UNKNOWN:
            if request.is_repeated:
                raise StatementOutcomeUnknown("changes of this kind do not record which statement made them")
            return None
        case Repetition.ROWS | Repetition.DEFINITION:
            return _find_version(bound, repetition, context)
        case _:
            assert_never(repetition)


def has_changed_catalog(repetition: Repetition, context: ExecutionContext) -> bool:
    """Returns True if the statement has changed the catalog before, which may be the reason for an error."""
    changes_catalog = repetition in (Repetition.CREATION, Repetition.REMOVAL, Repetition.CATALOG)
    return changes_catalog and context.request.transaction_id is not None and _find_change(context).is_found


def _find_change(context: ExecutionContext) -> ChangeSearch:
    request = context.request
    assert request.transaction_id is not None
    return context.sources.catalog.find_change(request.transaction_id, request.began_ms - _CLOCKS_MS)


def unknown_outcome(
    error: SqlError, repetition: Repetition, context: ExecutionContext
) -> StatementOutcomeUnknown | None:
    """Returns the error to report if a repeated statement fails with one that its first execution may have caused."""
    endings: tuple[str, ...] = ()
    match repetition:
        case Repetition.CREATION:
            endings = ("ALREADY_EXISTS",)
        case Repetition.REMOVAL:
            endings = ("NOT_FOUND",)
        case Repetition.CATALOG if context.request.transaction_id is not None and _find_change(context).is_complete:
            return None
        case Repetition.CATALOG | Repetition.UNKNOWN:  # the name of a renamed table, for example
            endings = ("ALREADY_EXISTS", "NOT_FOUND")
        case Repetition.AGAIN | Repetition.ROWS | Repetition.DEFINITION:
            return None
        case _:
            assert_never(repetition)
    return StatementOutcomeUnknown(error.message.rstrip(".")) if error.condition.endswith(endings) else None


def ensure_repeatable_in_script(statement: RunnableStatement, scopes: Sequence[Scope]) -> None:
    """Raises `StatementOutcomeUnknown` for a statement of a repeated script that changes more than the script's own
    variables: its first execution may have changed what the script's conditions and variables were computed from.
    """
    names = {name for scope in scopes for name in scope.variables}
    match statement:
        case MultiInsert():
            is_repeatable = False
        case DeclareVariables():
            is_repeatable = bool(scopes)
        case SetVariables(targets=targets):
            is_repeatable = all(len(parts) == 1 and parts[0].lower() in names for parts in targets)
        case _:  # the values of all other statements
            is_repeatable = spec_of(statement).repetition(statement) is Repetition.AGAIN
    if not is_repeatable:
        raise StatementOutcomeUnknown("it is part of a script, which the server had begun before")


def _may_be_taken_over(request: StatementRequest) -> bool:
    # A clock that was set back counts as a pause.
    return not 0 <= request.now_ms() - request.began_ms < TAKEN_OVER_MS_MIN


def _is_younger(bound: BoundStatement, began_ms: int) -> bool:
    target = bound.target
    if not isinstance(target, TakenName):
        return False
    return target.entry.created_ms is not None and target.entry.created_ms >= began_ms - _CLOCKS_MS


def _find_version(bound: BoundStatement, repetition: Repetition, context: ExecutionContext) -> CommittedPlan | None:
    request, snapshot = context.request, _written_table(bound, context)
    assert request.transaction_id is not None
    if snapshot is None:
        return None
    found = snapshot.find_commit(
        request.transaction_id, request.began_ms - _CLOCKS_MS, changes_rows=repetition is Repetition.ROWS
    )
    if found.record is None:
        if request.is_repeated and not found.is_complete:
            raise StatementOutcomeUnknown("the table was changed since, and does not record by which statement")
        return None
    target, statement = bound.target, bound.statement
    if isinstance(statement, CreateTable) and (statement.policies or _is_protected(bound)):
        raise StatementOutcomeUnknown("the table was committed, but maybe not its row filter and column masks")
    if isinstance(target, FreeName):
        return CommittedPlan(label=str(target.name), record=found.record, names=new_entry(bound, target))
    label = target.label if isinstance(target, BoundTable) else str(target.entry.name) if target is not None else ""
    return CommittedPlan(label=label, record=found.record)


def _written_table(bound: BoundStatement, context: ExecutionContext) -> TableSnapshot | None:
    """Returns the bound version of the table that the statement writes; None if there is no table."""
    match bound.target:
        case BoundTable(snapshot=snapshot):
            return snapshot
        case FreeName(found=found):
            return found
        case TakenName(entry=TableEntry() as entry):
            return context.sources.formats[entry.format].find(entry.location)
        case TakenName() | None:  # a view, which the statement rejects
            return None
        case _:
            assert_never(bound.target)


def _is_protected(bound: BoundStatement) -> bool:
    return isinstance(bound.target, BoundTable) and bound.target.is_protected
