"""Conditions of commits that lose to another writer's, or whose outcome is not known, whatever the table's format."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


class ConcurrentModification(DeltaError):
    """Family of all conflicts."""


@dataclass(eq=False)
class ConcurrentDrop(ConcurrentModification, condition="CONCURRENT_DROP", sqlstate="2D521"):
    table: str
    template = (
        "{table} was dropped, or another table was made in its place, while this statement ran. Nothing was written. "
        "Run the statement again if it is meant for the table that is there now."
    )


@dataclass(eq=False)
class MetadataChanged(ConcurrentModification, condition="DELTA_METADATA_CHANGED", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    template = (
        "Transaction conflict: the metadata of {table} was changed by a concurrent {operation}, which committed "
        "version {version}. Run the statement again."
    )


@dataclass(eq=False)
class ConvertedTableChanged(ConcurrentModification, condition="CONVERTED_TABLE_CHANGED", sqlstate="2D521"):
    table: str
    template = (
        "{table} was changed by others while it was converted. Nothing was converted. Run the statement again when "
        "they have ended: what they commit later is not in the converted table."
    )


@dataclass(eq=False)
class CommitOutcomeUnknown(DeltaError, condition="COMMIT_OUTCOME_UNKNOWN", sqlstate="08007"):
    table: str
    version: int
    txn_id: str
    detail: str
    template = (
        "It is not known whether version {version} of {table} was committed: the storage failed ({detail}). Before "
        "running the statement again look for the transaction id {txn_id} in DESCRIBE HISTORY."
    )


@dataclass(eq=False)
class CommittedWhileConverted(CommitOutcomeUnknown, condition="COMMITTED_WHILE_CONVERTED", sqlstate="08007"):
    """The version is there; `detail` is the folder."""

    template = (
        "{table} was converted to a Delta table while this statement committed version {version} of the Iceberg table. "
        "What it wrote is in iceberg.`{detail}`, and may not be in delta.`{detail}`. Compare both before running the "
        "statement again."
    )
