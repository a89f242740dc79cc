"""Commits of metadata that a procedure decides on the newest version, again where another writer's came first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from catalog.conditions import ConcurrentDrop, IcebergProcedureRefused
from engine.formats.iceberg.planning.plans import CallPlan
from engine.iceberg.commit.metadata_store import LoadedMetadata, MetadataStore
from engine.iceberg.commit.updates import Requirement, Update
from engine.iceberg.definition.properties import retries_of
from engine.iceberg.transaction.transaction import IcebergTransaction
from engine.runtime.accesses import Commit
from engine.spark.execution_context import ExecutionContext
from engine.tables.operations import CommitDescription, TableOperation


class Change(Protocol):
    """What is committed; without updates nothing is."""

    @property
    def requirements(self) -> Sequence[Requirement]: ...

    @property
    def updates(self) -> Sequence[Update]: ...


DecidedChange = TypeVar("DecidedChange", bound=Change)


@dataclass(frozen=True, slots=True)
class Committed:
    """The metadata that a change was decided on, and what it became."""

    before: LoadedMetadata
    after: LoadedMetadata


def begin(plan: CallPlan) -> IcebergTransaction:
    """A transaction on the table as the statement was bound to it."""
    description = CommitDescription(name=f"CALL {plan.name}", operation=TableOperation.METADATA)
    transaction = plan.table.own.begin(plan.snapshot, description, plan.table.label)
    assert isinstance(transaction, IcebergTransaction)
    return transaction


def commit(
    plan: CallPlan, context: ExecutionContext, decide: Callable[[LoadedMetadata], DecidedChange]
) -> tuple[DecidedChange, Committed]:
    """Raises what `decide` and the store raise, `ConcurrentDrop` where another table is there now, and
    `IcebergProcedureRefused` where others are faster all the time.
    """
    store = begin(plan).store

    def attempt() -> tuple[DecidedChange, Committed] | None:
        loaded = load(plan, store)
        change = decide(loaded)
        if not change.updates:
            return change, Committed(loaded, loaded)
        after = store.commit(loaded, change.requirements, change.updates)
        return None if after is None else (change, Committed(loaded, after))

    policy = retries_of(plan.snapshot.metadata.properties, context.retries)
    done, attempts = policy.rebase(attempt, store.storage.root, _version_of)
    if done is None:
        raise IcebergProcedureRefused(plan.table.label, plan.name, f"others committed first, {attempts} times")
    if done[1].after is not done[1].before:
        version = done[1].after.metadata.current_snapshot_id or 0
        context.request.on_commit(Commit(plan.table.label, version))
    return done


def _version_of(done: tuple[object, Committed] | None) -> int:
    assert done is not None, "the attempt committed"
    return done[1].after.metadata.last_sequence_number


def load(plan: CallPlan, store: MetadataStore) -> LoadedMetadata:
    """The newest version of the table that the statement was bound to. Raises `ConcurrentDrop`."""
    loaded = store.load()
    if loaded.metadata.table_uuid != plan.snapshot.metadata.table_uuid:
        raise ConcurrentDrop(plan.table.label)
    return loaded
