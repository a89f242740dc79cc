"""Why a commit lost to another: Delta's conditions of concurrent modification.

None of them is a bug, and all of them mean the same to a user: nothing was written, run the statement again.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.conflict_errors import ConcurrentModification
from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class ConcurrentAppend(ConcurrentModification, condition="DELTA_CONCURRENT_APPEND", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    place: str
    """The partition of the file, or the root of the table."""
    template = (
        "Transaction conflict: a concurrent {operation} added data to {place} of {table}, which this statement "
        "read; it committed version {version}. Run the statement again, or put a predicate on the partition columns "
        "into it."
    )


@dataclass(eq=False)
class ConcurrentDeleteRead(ConcurrentModification, condition="DELTA_CONCURRENT_DELETE_READ", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    path: str
    template = (
        "Transaction conflict: a concurrent {operation} removed the file {path} of {table}, which this statement "
        "read; it committed version {version}. Run the statement again."
    )


@dataclass(eq=False)
class ConcurrentDeleteDelete(ConcurrentModification, condition="DELTA_CONCURRENT_DELETE_DELETE", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    path: str
    template = (
        "Transaction conflict: a concurrent {operation} removed the file {path} of {table}, which this statement "
        "removes as well; it committed version {version}. Run the statement again."
    )


@dataclass(eq=False)
class ProtocolChanged(ConcurrentModification, condition="DELTA_PROTOCOL_CHANGED", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    template = (
        "Transaction conflict: the protocol of {table} was changed, or the table created, by a concurrent "
        "{operation}, which committed version {version}. Run the statement again."
    )


@dataclass(eq=False)
class ConcurrentTransaction(ConcurrentModification, condition="DELTA_CONCURRENT_TRANSACTION", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    subject: str
    """`the application id X` or `the metadata domain X`."""
    template = (
        "Transaction conflict: a concurrent {operation} on {table} wrote {subject}, which this statement uses as "
        "well; it committed version {version}. Run the statement again, and a stream only once at a time."
    )


@dataclass(eq=False)
class ConcurrentWrite(ConcurrentModification, condition="DELTA_CONCURRENT_WRITE", sqlstate="2D521"):
    table: str
    version: int
    operation: str
    template = (
        "Transaction conflict: a concurrent {operation} wrote to {table} while this statement replaced its state; "
        "it committed version {version}. Run the statement again when nothing else writes."
    )


@dataclass(eq=False)
class FeatureDropConflict(
    ConcurrentModification, condition="DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL", sqlstate="40000"
):
    table: str
    version: int
    operation: str
    template = (
        "The table feature cannot be dropped: a concurrent {operation} committed version {version} of {table} and "
        "may have used it. Run the statement again."
    )


@dataclass(eq=False)
class CommitAttemptsExceeded(DeltaError, condition="DELTA_MAX_COMMIT_RETRIES_EXCEEDED", sqlstate="40000"):
    table: str
    attempts: int
    seconds: float
    version: int
    template = (
        "The commit to {table} was given up after {attempts} attempts in {seconds:.1f} s: other writers were faster "
        "each time, the last of them with version {version}. Nothing was written. Run the statement again when fewer "
        "write."
    )
