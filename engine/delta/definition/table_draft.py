"""A table definition under construction, to which changes are applied in sequence.

A draft contains everything that DDL can change, separately from its final form: the schema as a value, the properties,
the explicitly requested features. `finish` converts it to a commit's protocol and metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from catalog.conditions import ClusteringColumnMissingStats, FeaturesProtocolMismatch
from engine.delta.definition.clustering import clustering_columns, logical_paths, parse_clustering, unmeasured_columns
from engine.delta.definition.schema_validation import ensure_schema
from engine.delta.definition.table_config import DeltaConfig, choose_protocol
from engine.delta.schema.column_ids import assign_ids
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.spec import properties
from engine.delta.spec.actions import DomainMetadata, Metadata, Protocol
from engine.delta.spec.features import LegacyVersions
from engine.delta.spec.protocols import DEFAULT_FEATURES, implied_features, raised_to, weakest_protocol
from engine.tables.definition import TableDetails
from engine.types.column_paths import Path, format_name
from engine.types.schema import StructType
from engine.types.voids import ensure_no_nested_void


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The values that a transaction stages to define or redefine a table."""

    protocol: Protocol
    metadata: Metadata
    # As in `DeltaConfig`.
    clustering: DomainMetadata | None = None
    # Features that the protocol intentionally lacks.
    drops: frozenset[str] = frozenset()

    @classmethod
    def of(cls, config: DeltaConfig) -> Self:
        """Returns an existing table's definition."""
        return cls(protocol=config.protocol, metadata=config.metadata, clustering=config.clustering)

    def config(self, table: str) -> DeltaConfig:
        """Returns the configuration for this definition; `table` is its name for messages."""
        return DeltaConfig.of(table, self.protocol, self.metadata, self.clustering)

    def details(self, table: str) -> TableDetails:
        """Returns the details that DESCRIBE shows for this definition."""
        return table_details(self.config(table))


def table_details(config: DeltaConfig) -> TableDetails:
    """Returns a table's details, except the modification time, which the log has."""
    metadata, protocol = config.metadata, config.protocol
    return TableDetails(
        id=metadata.id,
        name=metadata.name,
        description=metadata.description,
        created_ms=metadata.created_time,
        properties=metadata.configuration,
        clustering_columns=clustering_columns(config),
        versions=(protocol.min_reader_version, protocol.min_writer_version),
        features=tuple(sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDraft:
    # For messages.
    table: str
    # The table's current configuration; None for a new table.
    before: DeltaConfig | None
    # Its `schema_string` is ignored in a draft.
    metadata: Metadata
    schema: StructType
    # Makes a new column's physical name from its logical name.
    new_name: Callable[[str], str]
    # Requested by name.
    features: frozenset[str] = frozenset()
    # Requested by number; 0: not requested.
    versions: LegacyVersions = LegacyVersions(0, 0)
    drops: frozenset[str] = frozenset()
    # The remaining protocol after features were dropped.
    dropped_to: Protocol | None = None
    clustering: DomainMetadata | None = None
    # Clustering columns (physical paths) that had no statistics before.
    unmeasured: frozenset[Path] = frozenset()

    @property
    def is_new(self) -> bool:
        """Returns True for a table that does not exist yet."""
        return self.before is None

    @property
    def protocol(self) -> Protocol | None:
        """Returns the table's current protocol; None for a new table."""
        return self.dropped_to or (self.before.protocol if self.before else None)

    @property
    def configuration(self) -> Mapping[str, str | None]:
        """Returns the table properties in the draft, by their names in the log."""
        return self.metadata.configuration

    @property
    def mapping_mode(self) -> str:
        """Returns `delta.columnMapping.mode`: `none`, `name` or `id`."""
        return properties.COLUMN_MAPPING_MODE.read(self.configuration)

    @property
    def clustered_by(self) -> tuple[Path, ...]:
        """Returns the logical paths of the clustering columns."""
        return logical_paths(self.schema, self.mapping_mode, parse_clustering(self.clustering))

    def with_schema(self, schema: StructType) -> TableDraft:
        """Returns the draft with another schema; the metadata's `schema_string` stays, and is ignored in drafts."""
        return replace(self, schema=schema)

    def with_settings(self, settings: Mapping[str, str | None]) -> TableDraft:
        """Sets properties; None removes a key."""
        changed = {**self.configuration, **settings}
        remaining = {key: value for key, value in changed.items() if value is not None}
        return replace(self, metadata=replace(self.metadata, configuration=remaining))

    def with_ids(self) -> TableDraft:
        """Assigns an id and a physical name to every field, if the table has column mapping."""
        if self.mapping_mode == NO_MAPPING:
            return self
        highest = properties.COLUMN_MAPPING_MAX_ID.read(self.configuration)
        schema, highest = assign_ids(self.schema, highest, self.new_name)
        return self.with_schema(schema).with_settings({properties.COLUMN_MAPPING_MAX_ID.key: str(highest)})

    def finish(self) -> Definition:
        """Returns the definition after all changes.

        Raises the errors of `choose_protocol`, `ensure_protocol_carries_metadata`, `ensure_still_writable` and
        `ensure_schema`, and `ClusteringColumnMissingStats` if a clustering column would be without statistics.
        """
        complete = self.with_ids()
        metadata = replace(complete.metadata, schema_string=complete.schema.to_json())
        protocol = self._protocol(metadata)
        definition = Definition(protocol=protocol, metadata=metadata, clustering=self.clustering, drops=self.drops)
        config = definition.config(self.table)
        retained_drops = sorted(name for name in self.drops if config.is_supported(name))
        if retained_drops:  # the metadata demands the feature to drop
            raise FeaturesProtocolMismatch(self.table, ", ".join(retained_drops))
        config.ensure_protocol_carries_metadata(self.before)
        config.ensure_still_writable(self.before)
        ensure_schema(config)
        ensure_no_nested_void(config.schema, self.before.schema if self.before else None)
        missing = [
            format_name(name) for path, name in unmeasured_columns(config).items() if path not in self.unmeasured
        ]
        if missing:
            raise ClusteringColumnMissingStats(", ".join(missing))
        return definition

    def _protocol(self, metadata: Metadata) -> Protocol:
        """Returns the finished definition's protocol. Two legacy versions imply features together."""
        lacking = self.before.lacking if self.before else frozenset[str]()
        if self.versions == LegacyVersions(0, 0):
            return choose_protocol(self.table, self.protocol, metadata, self.features, lacking)
        current = self.protocol or weakest_protocol(DEFAULT_FEATURES)
        reader = max(self.versions.reader, current.min_reader_version)
        writer = max(self.versions.writer, current.min_writer_version)
        features = self.features | implied_features(reader, writer)
        new_protocol = choose_protocol(self.table, self.protocol, metadata, features, lacking)
        return raised_to(new_protocol, reader, writer)
