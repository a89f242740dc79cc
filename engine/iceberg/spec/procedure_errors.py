"""What procedures of Iceberg tables refuse."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class IcebergProcedureRefused(DeltaError, condition="ICEBERG_PROCEDURE_REFUSED", sqlstate="55000"):
    """The table is not in a state for it."""

    table: str
    procedure: str
    reason: str
    template = "The procedure {procedure} changed nothing in the Iceberg table {table}: {reason}."


@dataclass(eq=False)
class IcebergStatementRefused(DeltaError, condition="ICEBERG_STATEMENT_NOT_SUPPORTED", sqlstate="0A000"):
    """It means something to Delta tables; `advice` is a sentence."""

    statement: str
    table: str
    advice: str
    template = "{statement} is not for Iceberg tables, of which {table} is one. {advice}"


@dataclass(eq=False)
class IcebergReferenceNotFound(DeltaError, condition="ICEBERG_REFERENCE_NOT_FOUND", sqlstate="42704"):
    table: str
    name: str
    template = "The Iceberg table {table} has no branch or tag {name}. Its metadata table refs lists those that it has."


@dataclass(eq=False)
class IcebergFilesNotRemoved(DeltaError, condition="ICEBERG_FILES_NOT_REMOVED", sqlstate="58030"):
    """The snapshots are gone, and some of their files are not."""

    table: str
    count: int
    first: str
    reason: str
    template = (
        "{count} files that nothing in the Iceberg table {table} needs could not be removed, {first} being the first:"
        " {reason}. What the table has is not affected. CALL system.remove_orphan_files removes them later."
    )


@dataclass(eq=False)
class IcebergPathPrefixesDiffer(DeltaError, condition="ICEBERG_PATH_PREFIXES_DIFFER", sqlstate="55000"):
    table: str
    listed: str
    named: str
    template = (
        "Nothing was removed from {table}: {listed} was found, and the table names {named}, which may be the same file"
        " under another scheme or host. Say so with equal_schemes => map('a', 'b') or equal_authorities, or give"
        " prefix_mismatch_mode => 'IGNORE' to keep such files, or 'DELETE' to remove them."
    )
