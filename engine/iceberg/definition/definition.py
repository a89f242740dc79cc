"""What governs an Iceberg table: it is read, and nothing else yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.iceberg.spec.errors import IcebergOperationNotSupported
from engine.table.details import TableDetails
from engine.table.identity import IdentityColumn
from engine.table.operations import TableOperation
from engine.table.rules import Capability, Constraint
from engine.types.schema import StructType

COMMENT = "comment"
"""The property that holds a table's comment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergDefinition:
    """A table's definition and its rules. `name` is what messages call it."""

    name: str
    schema: StructType
    table_details: TableDetails

    def config(self, table: str) -> IcebergDefinition:
        return self

    def details(self, table: str) -> TableDetails:
        return self.table_details

    def has(self, capability: Capability) -> bool:
        return False

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises `IcebergOperationNotSupported` for all but reading."""
        if operation is not TableOperation.READ:
            raise IcebergOperationNotSupported(self.name, operation.value.capitalize())

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return ()

    @property
    def partition_keys(self) -> tuple[str, ...]:
        return ()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return ()

    @property
    def generations(self) -> Mapping[str, str]:
        return {}

    @property
    def identities(self) -> tuple[IdentityColumn, ...]:
        return ()

    @property
    def is_append_only(self) -> bool:
        return False

    @property
    def stored_schema(self) -> StructType:
        return self.schema

    @property
    def compression(self) -> str | None:
        return None

    @property
    def target_file_size(self) -> int | None:
        return None

    @property
    def optimizes_writes(self) -> bool | None:
        return None
