"""An existing or new Iceberg table's definition: columns, partitioning, order and properties.

A definition results from changes (`engine.iceberg.definition.changes`), or from a table's metadata (`definition_of`). A
commit writes its difference to the metadata (`engine.iceberg.definition.metadata_updates`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.conditions import IcebergFeatureNotSupported, IcebergOperationNotSupported
from engine.iceberg.definition.column_types import backquote, stored_schema, table_schema
from engine.iceberg.definition.partitioning import partition_terms, sort_terms, source_path
from engine.iceberg.definition.properties import COMMENT, DISTRIBUTION_MODE, ensure_writable, target_file_size
from engine.iceberg.definition.value_sql import storable_sql, stored_sql
from engine.iceberg.manifests.manifest import PARTITION_PREFIX
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.sort_orders import SortOrder
from engine.iceberg.spec.types import IcebergSchema, Kind, SimpleType, type_name, walk
from engine.tables.config import Capability, Distribution, PartitionSource, SortColumn, StoredValue, UnconstrainedConfig
from engine.tables.definition import TableDetails
from engine.tables.operations import TableOperation
from engine.types.schema import StructType

# Capabilities for all format versions; a version without defaults rejects them when they are set.
_CAPABILITIES = frozenset(
    {
        Capability.COLUMN_DEFAULTS,
        Capability.ADDED_DEFAULTS,
        Capability.WHOLE_FILES,
        Capability.OPTIONAL_PARENTS,
    }
)
_NANOS = frozenset({Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS})
_NANOS_PER_MICRO = 1000
# Properties that select merge-on-read; the default is copy-on-write.
_MODES: Mapping[Capability, str] = {
    Capability.VECTORS_ON_DELETE: "write.delete.mode",
    Capability.VECTORS_ON_UPDATE: "write.update.mode",
    Capability.VECTORS_ON_MERGE: "write.merge.mode",
}
MERGE_ON_READ = "merge-on-read"
_WITHOUT_ORDER = frozenset({TransformKind.VOID, TransformKind.UNKNOWN})
_UNSORTED = frozenset({SimpleType(Kind.FLOAT), SimpleType(Kind.DOUBLE)})
_UNSUPPORTED = frozenset({TableOperation.CHECKPOINT, TableOperation.VACUUM})


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergDefinition(UnconstrainedConfig):
    """A table's definition and its rules. `name` is used in messages.

    `iceberg_schema` has the columns that statements see; past snapshots have their own. `before` is the metadata that
    the definition starts from, whose ids are in use; None for a new table. `details` outside the definition are the
    table's.
    """

    name: str
    format_version: int
    iceberg_schema: IcebergSchema
    spec: PartitionSpec
    order: SortOrder
    properties: Mapping[str, str]
    last_column_id: int
    last_partition_id: int
    before: TableMetadata | None = field(default=None, compare=False, repr=False)
    table_details: TableDetails = field(default_factory=TableDetails, compare=False, repr=False)
    # The columns that statements see.
    schema: StructType = field(default_factory=StructType, compare=False, repr=False)

    def config(self, table: str) -> IcebergDefinition:
        return self

    def details(self, table: str) -> TableDetails:
        return self.table_details

    def has(self, capability: Capability) -> bool:
        mode = _MODES.get(capability)
        if mode is not None:
            # Version 1 has no delete files.
            return self.format_version > 1 and self.properties.get(mode, "").lower() == MERGE_ON_READ
        return capability in _CAPABILITIES

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises `IcebergOperationNotSupported`, and `IcebergFeatureNotSupported` for features that no writer may
        ignore.
        """
        if operation in _UNSUPPORTED:
            raise IcebergOperationNotSupported(self.name, operation.value.capitalize())
        if operation in (TableOperation.READ, TableOperation.CDF_READ):
            return
        writes_files = operation is not TableOperation.METADATA
        ensure_writable(self.name, self.properties, self.spec, self.order, with_files=writes_files)
        if writes_files:
            self._ensure_rows_writable()

    def _ensure_rows_writable(self) -> None:
        """Raises `IcebergFeatureNotSupported`."""
        clash = sorted({*self.partition_keys} & {*self.schema.names})
        if clash:
            raise IcebergFeatureNotSupported(self.name, f"a column {clash[0]}, as partitions are called,")
        lost = [
            each.name for each in self._partition_fields if source_path(self.iceberg_schema, each.source_id) is None
        ]
        if lost:
            raise IcebergFeatureNotSupported(self.name, f"the partition field {lost[0]} of a column that is gone")

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Returns an empty tuple: file pruning uses the partition values, but rows contain the source columns."""
        return ()

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """Returns the partition names in folders below the table's folder."""
        return tuple(f"{PARTITION_PREFIX}{each.field_id}" for each in self._partition_fields)

    @property
    def partition_sources(self) -> tuple[PartitionSource, ...]:
        found = []
        for each in self._partition_fields:
            path = source_path(self.iceberg_schema, each.source_id)
            assert path is not None, "the spec of a table that is written has its columns"
            divisor = self._divisor(each.source_id, each.transform.kind)
            found.append(PartitionSource(path, each.transform.kind.value, each.transform.width, divisor))
        return tuple(found)

    def _divisor(self, source_id: int, kind: TransformKind) -> int:
        source = next(each.type for _, each in walk(self.iceberg_schema.struct) if each.id == source_id)
        is_nanos = isinstance(source, SimpleType) and source.kind in _NANOS
        # Spark's partition expressions get microseconds; identity values keep the stored
        # nanoseconds.
        return _NANOS_PER_MICRO if is_nanos and kind is not TransformKind.IDENTITY else 1

    @property
    def sort_columns(self) -> tuple[SortColumn, ...]:
        """Returns the sort columns.

        Empty if a column is floating point, since Spark orders zeros differently, or if a transform is unknown: writers
        are not required to sort.
        """
        fields = {each.id: each for _, each in walk(self.iceberg_schema.struct)}
        found = []
        for each in self.order.fields:
            path = source_path(self.iceberg_schema, each.source_id)
            source = fields.get(each.source_id)
            kind = each.transform.kind
            if path is None or source is None or source.type in _UNSORTED or kind in _WITHOUT_ORDER:
                return ()
            transform = None if kind is TransformKind.IDENTITY else kind.value
            divisor = self._divisor(each.source_id, each.transform.kind)
            width = each.transform.width
            found.append(SortColumn(path, each.descending, each.nulls_first, transform, width, divisor))
        return tuple(found)

    @property
    def distribution(self) -> Distribution | None:
        """Returns the write distribution property, if it has a valid value."""
        text = self.properties.get(DISTRIBUTION_MODE, "").lower()
        return Distribution(text) if text in set(Distribution) else None

    @property
    def _partition_fields(self) -> tuple[PartitionField, ...]:
        # A void field is always null and divides nothing.
        return tuple(each for each in self.spec.fields if each.transform.kind is not TransformKind.VOID)

    @property
    def stored_schema(self) -> StructType:
        return stored_schema(self.iceberg_schema.struct)

    @property
    def stored_values(self) -> Mapping[str, StoredValue]:
        found = {}
        for column in self.iceberg_schema.fields:
            name = backquote(column.name)
            text = stored_sql(name, column)
            condition = storable_sql(name, column)
            if text is not None or condition is not None:
                found[column.name] = StoredValue(type_name(column.type), text, condition)
        return found

    @property
    def compression(self) -> str | None:
        return self.properties.get("write.parquet.compression-codec", "zstd").lower()

    @property
    def target_file_size(self) -> int | None:
        return target_file_size(self.properties)


def definition_of(metadata: TableMetadata, schema: IcebergSchema, name: str) -> IcebergDefinition:
    """Returns the definition for this metadata, with the columns in `schema`.

    Raises `MalformedIcebergFile` for a default that does not fit its type.
    """
    return IcebergDefinition(
        name=name,
        format_version=metadata.format_version,
        iceberg_schema=schema,
        spec=metadata.spec,
        order=metadata.order,
        properties=metadata.properties,
        last_column_id=metadata.last_column_id,
        last_partition_id=metadata.last_partition_id,
        before=metadata,
        table_details=details_of(
            metadata.properties, metadata.format_version, Layout(metadata.spec, metadata.order), schema
        ),
        schema=table_schema(schema.struct),
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """Partitioning and sort order."""

    spec: PartitionSpec
    order: SortOrder


def details_of(
    properties: Mapping[str, str], format_version: int, layout: Layout, schema: IcebergSchema
) -> TableDetails:
    """Returns the table details for these parts."""
    return TableDetails(
        description=properties.get(COMMENT),
        properties={**properties, "format-version": str(format_version)},
        partition_terms=partition_terms(layout.spec, schema),
        sort_terms=sort_terms(layout.order, schema),
    )
