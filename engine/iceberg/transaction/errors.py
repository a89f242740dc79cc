"""Conflicts of commits to Iceberg tables."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.conflict_errors import ConcurrentModification
from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class IcebergConflict(ConcurrentModification, condition="ICEBERG_COMMIT_CONFLICT", sqlstate="2D521"):
    table: str
    detail: str
    template = (
        "Transaction conflict: a concurrent commit to the Iceberg table {table} {detail}. Nothing was written. Run the "
        "statement again."
    )


@dataclass(eq=False)
class IcebergCommitAttemptsExceeded(DeltaError, condition="ICEBERG_COMMIT_ATTEMPTS_EXCEEDED", sqlstate="2D521"):
    table: str
    attempts: int
    template = (
        "Nothing was written to the Iceberg table {table}: {attempts} times another writer's commit came first. Run "
        "the statement again when there are fewer."
    )


@dataclass(eq=False)
class IcebergReferenceRefused(DeltaError, condition="ICEBERG_REFERENCE_REFUSED", sqlstate="42710"):
    table: str
    reference: str
    reason: str
    template = "The branch or tag {reference} of the Iceberg table {table} cannot be changed so: {reason}."
