"""Metadata commits that a procedure decides on the newest version, repeated if another writer's commit comes first."""

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
    """The change to commit; without updates nothing is committed."""

    @property
    def requirements(self) -> Sequence[Requirement]:
        """Returns the conditions on the newest version (Iceberg REST specification, `TableRequirement`)."""
        ...

    @property
    def updates(self) -> Sequence[Update]:
        """Returns the metadata updates, in order; empty for no commit (Iceberg REST specification, `TableUpdate`)."""
        ...


DecidedChange = TypeVar("DecidedChange", bound=Change)


@dataclass(frozen=True, slots=True)
class Committed:
    """The metadata on which a change was decided, and the result."""

    before: LoadedMetadata
    after: LoadedMetadata


def begin(plan: CallPlan) -> IcebergTransaction:
    """Starts a transaction on the table version to which the statement was bound."""
    description = CommitDescription(name=f"CALL {plan.name}", operation=TableOperation.METADATA)
    plan.snapshot.ensure_supported(description.operation)
    transaction = plan.table.own.begin(plan.snapshot, description, plan.table.label)
    assert isinstance(transaction, IcebergTransaction)
    return transaction


def commit(
    plan: CallPlan, context: ExecutionContext, decide: Callable[[LoadedMetadata], DecidedChange]
) -> tuple[DecidedChange, Committed]:
    """Decides and commits a change.

    Raises the errors of `decide` and the store, `ConcurrentDrop` if the table was replaced, and
    `IcebergProcedureRefused` if other commits win every attempt.
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
    """Loads the newest version of the bound table. Raises `ConcurrentDrop`."""
    loaded = store.load()
    if loaded.metadata.table_uuid != plan.snapshot.metadata.table_uuid:
        raise ConcurrentDrop(plan.table.label)
    return loaded
