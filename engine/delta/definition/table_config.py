"""DeltaConfig: one version's protocol, metadata, schema and properties, combined and validated.

Protocol and metadata are raw values from the log; a `DeltaConfig` exists only if they could be interpreted. It answers
two kinds of questions:

- *May this operation run?* `ensure_supported` is the only function that decides, and its error names the blocking
  features. It uses the table in `engine.delta.spec.features` and contains no feature names itself.
- *Which configuration is effective?* Properties (`config.get(properties.CHECKPOINT_INTERVAL)`), and enabled features. A
  property is effective only if the protocol supports its feature: `delta.columnMapping.mode` in a (1, 2) table is text,
  not column mapping. `engine.delta.definition.dormant` has the exceptions, and the treatment of ineffective properties.

`choose_protocol` is the inverse: it selects the weakest protocol that carries the metadata.

Protocol: "Protocol Evolution", "Table Features", "Clustered Table"; the order of errors follows delta-spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar, assert_never

from catalog.conditions import (
    FeaturesProtocolMismatch,
    FeaturesRequireManualEnablement,
    InvalidProtocolVersion,
    StructFieldsDiffer,
    UnsupportedFileFormat,
    UnsupportedReaderFeatures,
    UnsupportedWriterFeatures,
)
from catalog.errors import SqlError
from engine.delta.definition.constraints import check_constraints, column_invariants
from engine.delta.definition.dormant import effective_schema
from engine.delta.schema.column_mapping import physical_name, stored_schema
from engine.delta.spec.actions import DomainMetadata, Metadata, Protocol
from engine.delta.spec.features import FEATURES, READS, MetadataFacts, demanded_features, is_listed, metadata_facts
from engine.delta.spec.properties import (
    APPEND_ONLY,
    COLUMN_MAPPING_MODE,
    OPTIMIZE_WRITE,
    PARQUET_COMPRESSION,
    TARGET_FILE_SIZE,
    TYPE_WIDENING,
    Property,
)
from engine.delta.spec.protocols import (
    DEFAULT_FEATURES,
    READER_VERSION_MAX,
    WRITER_VERSION_MAX,
    add_features,
    lists_features,
    protocol_features,
    raised_to,
    weakest_protocol,
)
from engine.tables.column_metadata import GENERATION, IdentityColumn, read_identities
from engine.tables.config import Capability, Constraint, Distribution, PartitionSource, SortColumn, StoredValue
from engine.tables.operations import TableOperation
from engine.types.schema import StructType, parse_schema

T = TypeVar("T")

# The only file provider in practice. Spark, which selects a reader by it, ignores its case.
PARQUET = "parquet"


@dataclass(slots=True)
class _Findings:
    """Results of checks that every statement makes, and that follow from the protocol and the metadata."""

    supported: set[TableOperation] = field(default_factory=set)
    lacking: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaConfig:
    """A table's effective configuration at one version."""

    # Name or path, for messages.
    table: str
    protocol: Protocol
    metadata: Metadata
    # Without column metadata for features that the protocol does not support.
    schema: StructType
    # Names that the protocol lists or implies, including unknown ones.
    features: frozenset[str]
    # From the metadata as in the log.
    facts: MetadataFacts
    # The clustering domain, raw (`engine.delta.definition.clustering`); None if the table has none.
    clustering: DomainMetadata | None = None
    _findings: _Findings = field(default_factory=_Findings, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, table: str, protocol: Protocol, metadata: Metadata, clustering: DomainMetadata | None = None) -> Self:
        """Combines protocol and metadata.

        Raises `MalformedLogEntry` and `UnsupportedDataType` if they cannot be interpreted.
        """
        written = parse_schema(metadata.schema_string)
        features = protocol_features(protocol)
        facts = metadata_facts(metadata.configuration, metadata.schema_string)
        return cls(
            table=table,
            protocol=protocol,
            metadata=_with_names_of(written, metadata),
            schema=effective_schema(written, facts.column_keys, features),
            features=features,
            facts=facts,
            clustering=clustering if is_listed("clustering", features) else None,
        )

    def with_name(self, table: str) -> Self:
        """Returns the configuration with another name or path for messages."""
        named = replace(self, table=table)
        object.__setattr__(named, "_findings", self._findings)
        return named

    def get(self, key: Property[T]) -> T:
        """Returns a property's value. Raises `InvalidTableProperty` for an unreadable value of a strict property."""
        return key.read(self.metadata.configuration)

    def is_supported(self, feature: str) -> bool:
        """Returns whether the protocol carries the feature, under this name or an older one."""
        return is_listed(feature, self.features)

    def is_enabled(self, feature: str) -> bool:
        """Returns whether the metadata demands the feature and is effective."""
        row = FEATURES[feature]
        # Tables from before table features: the rules in the metadata hold without an entry
        # in the protocol ("Requirements for Writers").
        counts = self.is_supported(feature) or (row.by_metadata and not self.lists_features)
        return counts and row.demanded(self.facts)

    @property
    def lists_features(self) -> bool:
        """Returns True if the protocol lists its features instead of implying them by versions."""
        return lists_features(self.protocol)

    @property
    def lacking(self) -> frozenset[str]:
        """Features that the metadata demands and the protocol does not support."""
        if self._findings.lacking is None:
            demanded = demanded_features(self.facts)
            self._findings.lacking = frozenset(name for name in demanded if not self.is_supported(name))
        return self._findings.lacking

    @property
    def column_mapping_mode(self) -> str:
        """Returns `delta.columnMapping.mode`: `none`, `name` or `id`."""
        # Files written under an unsupported mode used the logical names; taking the mode at
        # its word would make all columns null.
        return self.get(COLUMN_MAPPING_MODE) if self.is_supported("columnMapping") else "none"

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.metadata.partition_columns

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """Returns the keys of `partitionValues`, in partition column order."""
        mode = self.column_mapping_mode
        fields = {name: self.schema.field(name) for name in self.metadata.partition_columns}
        return tuple(physical_name(item, mode) if item else name for name, item in fields.items())

    @property
    def stored_schema(self) -> StructType:
        """Returns the schema with physical names, and with column mapping ids."""
        return stored_schema(self.schema, self.column_mapping_mode)

    @property
    def stored_values(self) -> Mapping[str, StoredValue]:
        return {}

    @property
    def partition_sources(self) -> tuple[PartitionSource, ...]:
        return ()

    @property
    def sort_columns(self) -> tuple[SortColumn, ...]:
        return ()

    @property
    def distribution(self) -> Distribution | None:
        return None

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Returns the CHECK constraints and column invariants.

        They are effective under every protocol: tables with legacy versions that do not imply them have metadata from
        writers that enforce them.
        """
        return (*check_constraints(self.metadata.configuration), *column_invariants(self.schema))

    @property
    def generations(self) -> Mapping[str, str]:
        """Returns the generation expressions by column; empty if the protocol lacks the feature.

        Old writers left such metadata in tables without the feature, where it is not effective.
        """
        if not self.is_supported("generatedColumns"):
            return {}
        texts = {column.name: column.metadata.get(GENERATION) for column in self.schema.fields}
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    @property
    def identities(self) -> tuple[IdentityColumn, ...]:
        """Returns the identity columns; empty if the protocol lacks the feature. Raises `InconsistentIdentity`."""
        return read_identities(self.schema) if self.is_supported("identityColumns") else ()

    def has(self, capability: Capability) -> bool:
        match capability:
            case Capability.CHANGE_FEED:
                return self.is_enabled("changeDataFeed")
            case Capability.VECTORS_ON_DELETE | Capability.VECTORS_ON_UPDATE | Capability.VECTORS_ON_MERGE:
                return self.is_enabled("deletionVectors")
            case Capability.ROW_IDS:
                return self.is_enabled("rowTracking")
            case Capability.TYPE_WIDENING:
                return self.get(TYPE_WIDENING)
            case Capability.COLUMN_DEFAULTS:
                return self.is_supported("allowColumnDefaults")
            case Capability.NAMED_FIELDS:
                return True
            case Capability.ADDED_DEFAULTS | Capability.WHOLE_FILES | Capability.OPTIONAL_PARENTS:
                return False
            case _:
                assert_never(capability)

    def field_mismatch(self, reason: str) -> SqlError | None:
        return StructFieldsDiffer(reason)

    @property
    def is_append_only(self) -> bool:
        return self.get(APPEND_ONLY)

    @property
    def compression(self) -> str | None:
        return self.get(PARQUET_COMPRESSION)

    @property
    def target_file_size(self) -> int | None:
        return self.get(TARGET_FILE_SIZE)

    @property
    def optimizes_writes(self) -> bool | None:
        return self.get(OPTIMIZE_WRITE)

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises an error unless this product can run `operation` on the table.

        `UnsupportedFileFormat` if its files are not Parquet; `InvalidProtocolVersion` for unknown versions;
        `UnsupportedReaderFeatures` or `UnsupportedWriterFeatures` with the names of all blocking features.
        """
        if operation not in self._findings.supported:
            self._find_unsupported_feature(operation)
            self._findings.supported.add(operation)

    def _find_unsupported_feature(self, operation: TableOperation) -> None:
        if self.metadata.format.provider.casefold() != PARQUET:
            raise UnsupportedFileFormat(self.table, self.metadata.format.provider)
        reads = operation in READS
        if self.protocol.min_reader_version > READER_VERSION_MAX or (
            not reads and self.protocol.min_writer_version > WRITER_VERSION_MAX
        ):
            raise InvalidProtocolVersion(
                self.table,
                self.protocol.min_reader_version,
                self.protocol.min_writer_version,
                f"reader versions to {READER_VERSION_MAX} and writer versions to {WRITER_VERSION_MAX}",
            )
        blocking = self._blocking_features(operation)
        if blocking:
            refuse = UnsupportedReaderFeatures if reads else UnsupportedWriterFeatures
            raise refuse(self.table, ", ".join(blocking), operation.value)

    def _blocking_features(self, operation: TableOperation) -> list[str]:
        enabled = {name for name in self.lacking if self.is_enabled(name)}
        return [name for name in sorted(self.features | enabled) if self._blocks(name, operation)]

    def _blocks(self, name: str, operation: TableOperation) -> bool:
        feature = FEATURES.get(name)
        if feature is None:
            # "Table Features": an unknown writer feature forbids writes, an unknown reader
            # feature reads as well.
            return operation not in READS or name in (self.protocol.reader_features or ())
        # A feature that is listed but not in use has no rows or files that depend on it, so
        # that it need not block.
        return operation not in feature.allows and feature.is_in_use(self.facts)

    def ensure_still_writable(self, before: DeltaConfig | None) -> None:
        """Raises `UnsupportedWriterFeatures` if a feature that comes into use now prevents writing rows.

        A statement must not create a table that this product cannot write. Other writers' tables are unaffected: a
        feature in use `before` stays.
        """
        unwritable = before._blocking_features(TableOperation.APPEND) if before else []
        blocking = [name for name in self._blocking_features(TableOperation.APPEND) if name not in unwritable]
        if blocking:
            raise UnsupportedWriterFeatures(self.table, ", ".join(blocking), TableOperation.METADATA.value)

    def ensure_protocol_carries_metadata(self, before: DeltaConfig | None) -> None:
        """Raises `FeaturesProtocolMismatch` if the metadata demands features that the protocol lacks.

        A reader ignores them; a writer must not commit this combination. With a legacy protocol, older writers left
        such metadata behind: features lacking `before` may continue to be lacking.
        """
        tolerated = before.lacking if before is not None and not self.lists_features else frozenset()
        missing = sorted(self.lacking - tolerated)
        if missing:
            raise FeaturesProtocolMismatch(self.table, ", ".join(missing))


def _with_names_of(schema: StructType, metadata: Metadata) -> Metadata:
    """Spells partition columns as in the schema: names match without regard to case, but dictionary keys do not."""
    found = [(name, schema.field(name)) for name in metadata.partition_columns]
    names = tuple(item.name if item else name for name, item in found)
    return metadata if names == metadata.partition_columns else replace(metadata, partition_columns=names)


def choose_protocol(
    table: str,
    current: Protocol | None,
    metadata: Metadata,
    explicit: frozenset[str] = frozenset(),
    lacking: frozenset[str] = frozenset(),
) -> Protocol:
    """Returns the weakest protocol that carries `metadata`, the `explicit` features, and all that `current` carries.

    `current` is None for a new table, which starts with the features that (1, 2) implies. Returns `current` itself if
    it suffices. Raises `FeaturesRequireManualEnablement` for a feature that an existing table gets only by name. A
    feature that was `lacking` before may stay so while the protocol lists no features.
    """
    demanded = demanded_features(metadata_facts(metadata.configuration, metadata.schema_string))
    if current is None:
        return weakest_protocol(DEFAULT_FEATURES | demanded | explicit)
    present = protocol_features(current)
    # A feature may be listed under its preview name, which counts as present: adding the
    # final name too would lock out readers that know only the first.
    missing = {name for name in demanded if not is_listed(name, present)}
    # As in delta-spark, an upgrade that locks out older readers is made only when the user
    # names the feature.
    manual = {name for name in missing - explicit if not FEATURES[name].auto_upgrade}
    extended = add_features(current, {name for name in (missing - manual) | explicit if not is_listed(name, present)})
    refused = sorted(manual if lists_features(extended) else manual - lacking)
    if refused:
        raise FeaturesRequireManualEnablement(table, ", ".join(refused))
    return raised_to(extended, current.min_reader_version, current.min_writer_version)
