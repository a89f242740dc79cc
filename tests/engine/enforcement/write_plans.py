"""Write plans for enforcement tests: a table's constraints as values, without a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog.errors import SqlError
from engine.planning.plans.write_plan import WritePlan
from engine.tables.column_metadata import IdentityColumn
from engine.tables.config import Capability, Constraint, Distribution, PartitionSource, SortColumn, StoredValue
from engine.tables.operations import TableOperation
from engine.types.schema import DataType, PrimitiveType, StructField, StructType

INT, LONG, STRING, DATE = PrimitiveType.INTEGER, PrimitiveType.LONG, PrimitiveType.STRING, PrimitiveType.DATE


def column(name: str, data_type: DataType = INT, nullable: bool = True, **metadata: Any) -> StructField:
    return StructField(name, data_type, nullable, metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeTableConfig:
    """`engine.tables.config.TableConfig`; the stored columns default to the table's."""

    schema: StructType
    partition_columns: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    generations: Mapping[str, str] = field(default_factory=dict)
    identities: tuple[IdentityColumn, ...] = ()
    is_append_only: bool = False
    stored_as: StructType | None = None
    compression: str | None = None
    target_file_size: int | None = None
    optimizes_writes: bool | None = None
    partition_sources: tuple[PartitionSource, ...] = ()
    sort_columns: tuple[SortColumn, ...] = ()
    distribution: Distribution | None = None
    stored_values: Mapping[str, StoredValue] = field(default_factory=dict)
    capabilities: tuple[Capability, ...] = ()

    def has(self, capability: Capability) -> bool:
        return capability in self.capabilities

    def ensure_supported(self, operation: TableOperation) -> None:
        raise AssertionError("enforcement does not ask")

    def field_mismatch(self, reason: str) -> SqlError | None:
        return None

    @property
    def partition_keys(self) -> tuple[str, ...]:
        return self.partition_columns

    @property
    def stored_schema(self) -> StructType:
        return self.stored_as or self.schema


def plan(
    *columns: StructField, given: str | None = None, table_config: Mapping[str, Any] | None = None, **parts: Any
) -> WritePlan:
    """Returns a write into a table `t` with these columns; `given` names the query's columns, separated by blanks."""
    schema = StructType(columns)
    if given is not None:
        parts["target_columns"] = tuple(item for name in given.split() if (item := schema.field(name)))
    return WritePlan(table="t", config=FakeTableConfig(schema=schema, **(table_config or {})), **parts)
