"""Table features: `FEATURES` has one row for each. No other place decides which features this product supports.

A feature is *supported by a table* when its protocol lists it (or implies it by a legacy version), *demanded* when the
metadata requires it (a property is set, a column has a key or a type), and *in use* when the table may contain
something that only the feature explains. A row's `allows` lists the operations that this product supports on a table in
which the feature is in use. On a table that merely lists the feature, all operations work as on a plain table. To add
support for a feature, change its entry here and nowhere else.

Common rules:

* A reader-writer feature is in both lists in the protocol, a writer feature in `writerFeatures` only. A reader-writer
  feature in one list only (this occurs in real logs) counts as supported, which is the safe side.
* Unknown reader features reject all operations. Unknown writer features reject writes, but never reads.
* Feature names are case-sensitive in the log and case-insensitive in statements.

Protocol: "Table Features", "Valid Feature Names in Table Features". Rows without a section there come from other
writers (RFCs, previews). `legacy` is the map from versions to features in "Requirements for Writers".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TypeAlias, assert_never

from engine.delta.spec import properties
from engine.delta.spec.properties import Configuration, Property
from engine.tables.operations import TableOperation
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType, parse_schema


class FeatureKind(Enum):
    WRITER = "writer"
    READER_WRITER = "reader-writer"


READS = frozenset({TableOperation.READ, TableOperation.CDF_READ})
WRITES = frozenset(TableOperation) - READS

_ALL = frozenset(TableOperation)
_NONE: frozenset[TableOperation] = frozenset()
_NEW_ROWS = frozenset({TableOperation.APPEND, TableOperation.OVERWRITE})
_ROW_WRITES = _NEW_ROWS | {TableOperation.DML, TableOperation.OPTIMIZE}
# Operations that need the log only, no rows.
_UPKEEP = frozenset({TableOperation.METADATA, TableOperation.CHECKPOINT, TableOperation.VACUUM})


class Removal(Enum):
    """The conditions under which `DROP FEATURE` can remove a feature from the protocol."""

    NO = "not removable"
    YES = "removable"
    WITH_HISTORY = "removable once no retained version needs it"


@dataclass(frozen=True, slots=True)
class LegacyVersions:
    """The protocol versions that imply a feature without listing it."""

    reader: int
    writer: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFacts:
    """The parts in a table's metadata that decide which features it needs."""

    configuration: Configuration
    # Names of primitive types, at any depth in the schema.
    types: frozenset[str]
    # Keys in column metadata, at any depth in the schema.
    column_keys: frozenset[str]


MetadataTest: TypeAlias = Callable[[MetadataFacts], bool]


def metadata_facts(configuration: Configuration, schema_string: str) -> MetadataFacts:
    """Extracts the facts that demand features.

    Raises `MalformedLogEntry` and `UnsupportedDataType` if the schema cannot be parsed.
    """
    types, keys = _schema_facts(schema_string)
    return MetadataFacts(configuration=configuration, types=types, column_keys=keys)


@lru_cache(maxsize=256)
def _schema_facts(schema_string: str) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the schema's types and column keys.

    Cached: listing all columns evaluates every table, and schemas repeat.
    """
    types, keys = set[str](), set[str]()
    _collect(parse_schema(schema_string), types, keys)
    return frozenset(types), frozenset(keys)


def _collect(data_type: DataType, types: set[str], keys: set[str]) -> None:
    match data_type:
        case PrimitiveType():
            types.add(data_type.value)
        case DecimalType():
            types.add("decimal")
        case ArrayType(element):
            _collect(element, types, keys)
        case MapType(key, value):
            _collect(key, types, keys)
            _collect(value, types, keys)
        case StructType(items):
            kinds = [item.data_type for item in items]
            for kind in dict(zip(map(id, kinds), kinds, strict=True)).values():
                _collect(kind, types, keys)
            for item in items:
                if item.metadata:
                    keys.update(item.metadata)
        case _:
            assert_never(data_type)


def _always(_: MetadataFacts) -> bool:
    return True


def _never(_: MetadataFacts) -> bool:
    return False


def _flag(key: Property[bool]) -> MetadataTest:
    return lambda facts: key.read(facts.configuration)


def _has_value(key: Property[str], *values: str) -> MetadataTest:
    return lambda facts: key.read(facts.configuration) in values


def _has_key(prefix: str) -> MetadataTest:
    return lambda facts: any(key.startswith(prefix) for key in facts.configuration)


def _has_column_key(prefix: str) -> MetadataTest:
    return lambda facts: any(key.startswith(prefix) for key in facts.column_keys)


def _has_type(data_type: PrimitiveType) -> MetadataTest:
    return lambda facts: data_type.value in facts.types


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One row in `FEATURES`."""

    # The name in the log.
    name: str
    kind: FeatureKind = FeatureKind.WRITER
    legacy: LegacyVersions | None = None
    # Features that the protocol must list as well.
    requires: tuple[str, ...] = ()
    # Tests if the metadata needs the feature in the protocol.
    demanded: MetadataTest = _never
    # Tests if a table that lists the feature may contain something that only it explains. None: the same as `demanded`.
    use: MetadataTest | None = None
    # The operations that this product supports on a table in which the feature is in use.
    allows: frozenset[TableOperation] = _ALL
    # True if metadata that demands the feature adds it to an existing table's protocol automatically.
    auto_upgrade: bool = False
    removal: Removal = Removal.NO
    # True if adding the feature to a protocol fails concurrent commits.
    aborts_concurrents: bool = False
    # True if the feature's metadata is effective under legacy versions that do not imply the feature. See
    # `engine.delta.definition.dormant`.
    by_metadata: bool = False
    # The name under which this feature became final. Previews and old spellings mean the same.
    same_as: str | None = None

    @property
    def is_reader(self) -> bool:
        """Returns True for a feature that readers have to support too, a reader-writer feature."""
        return self.kind is FeatureKind.READER_WRITER

    @property
    def canonical_name(self) -> str:
        """Returns the name under which the feature became final; for most features, their own."""
        return self.same_as or self.name

    @property
    def versions(self) -> LegacyVersions:
        """Returns the lowest protocol versions that can carry the feature."""
        return self.legacy or LegacyVersions(3 if self.is_reader else 1, 7)

    def is_in_use(self, facts: MetadataFacts) -> bool:
        """Returns True if a table with this metadata may contain something that only the feature explains."""
        return (self.use or self.demanded)(facts)

    def with_alias(self, name: str) -> Feature:
        """Returns the same feature under another name, which is recognized but never chosen for a table."""
        return replace(
            self, name=name, same_as=self.name, demanded=_never, use=self.use or self.demanded, auto_upgrade=False
        )


_READER = FeatureKind.READER_WRITER

_TIMESTAMP_NTZ = Feature(
    name="timestampNtz", kind=_READER, demanded=_has_type(PrimitiveType.TIMESTAMP_NTZ), by_metadata=True
)
_CATALOG_MANAGED = Feature(
    name="catalogManaged",
    kind=_READER,
    requires=("inCommitTimestamp", "vacuumProtocolCheck"),
    use=_always,
    allows=_NONE,
)
_TYPE_WIDENING = Feature(
    name="typeWidening",
    kind=_READER,
    demanded=_flag(properties.TYPE_WIDENING),
    use=_has_column_key("delta.typeChanges"),
    allows=READS | _UPKEEP | _ROW_WRITES,
    auto_upgrade=True,
    removal=Removal.WITH_HISTORY,
)
_VARIANT = Feature(
    name="variantType",
    kind=_READER,
    demanded=_has_type(PrimitiveType.VARIANT),
    allows=READS | _UPKEEP | _ROW_WRITES,
    auto_upgrade=True,
    by_metadata=True,
    aborts_concurrents=True,
)
_VARIANT_SHREDDING = Feature(
    name="variantShredding",
    kind=_READER,
    requires=("variantType",),
    demanded=_flag(properties.VARIANT_SHREDDING),
    use=_has_type(PrimitiveType.VARIANT),
    allows=READS | _UPKEEP | _ROW_WRITES,
    auto_upgrade=True,
    aborts_concurrents=True,
)
_CLUSTERING = Feature(
    name="clustering",
    requires=("domainMetadata",),
    use=_always,
    aborts_concurrents=True,
)
_COLLATIONS = Feature(name="collations", use=_has_column_key("__COLLATIONS"), allows=READS | _UPKEEP)
_GEOSPATIAL = Feature(
    name="geospatial",
    kind=_READER,
    use=_always,
    allows=_NONE,
    removal=Removal.WITH_HISTORY,
    aborts_concurrents=True,
)

_ROWS: tuple[Feature, ...] = (
    # Features that legacy protocol versions imply.
    Feature(
        name="appendOnly",
        legacy=LegacyVersions(1, 2),
        demanded=_flag(properties.APPEND_ONLY),
        auto_upgrade=True,
        by_metadata=True,
    ),
    Feature(
        name="invariants",
        legacy=LegacyVersions(1, 2),
        demanded=_has_column_key("delta.invariants"),
        auto_upgrade=True,
        by_metadata=True,
        aborts_concurrents=True,
    ),
    Feature(
        name="checkConstraints",
        legacy=LegacyVersions(1, 3),
        demanded=_has_key(properties.CONSTRAINT_PREFIX),
        auto_upgrade=True,
        by_metadata=True,
        removal=Removal.YES,
        aborts_concurrents=True,
    ),
    Feature(
        name="changeDataFeed",
        legacy=LegacyVersions(1, 4),
        demanded=_flag(properties.CHANGE_DATA_FEED),
        auto_upgrade=True,
        by_metadata=True,
    ),
    Feature(
        name="generatedColumns",
        legacy=LegacyVersions(1, 4),
        demanded=_has_column_key("delta.generationExpression"),
        auto_upgrade=True,
        aborts_concurrents=True,
    ),
    Feature(
        name="columnMapping",
        kind=_READER,
        legacy=LegacyVersions(2, 5),
        demanded=_has_value(properties.COLUMN_MAPPING_MODE, "name", "id"),
        allows=READS | _UPKEEP | _ROW_WRITES,
        auto_upgrade=True,
        removal=Removal.WITH_HISTORY,
    ),
    Feature(
        name="identityColumns",
        legacy=LegacyVersions(1, 6),
        demanded=_has_column_key("delta.identity."),
        auto_upgrade=True,
        aborts_concurrents=True,
    ),
    # Features in the protocol's list. Deletion vectors remain after the property that enables them is reset.
    Feature(
        name="deletionVectors",
        kind=_READER,
        demanded=_flag(properties.DELETION_VECTORS),
        use=_always,
        allows=READS | _UPKEEP | _ROW_WRITES,
        auto_upgrade=True,
        removal=Removal.WITH_HISTORY,
    ),
    Feature(
        name="rowTracking",
        requires=("domainMetadata",),
        demanded=_flag(properties.ROW_TRACKING),
        auto_upgrade=True,
        removal=Removal.YES,
    ),
    _TIMESTAMP_NTZ,
    _TIMESTAMP_NTZ.with_alias("timestampWithoutTimezone"),
    Feature(name="domainMetadata", removal=Removal.YES),
    Feature(
        name="v2Checkpoint",
        kind=_READER,
        demanded=_has_value(properties.CHECKPOINT_POLICY, "v2"),
        auto_upgrade=True,
        removal=Removal.WITH_HISTORY,
    ),
    _CATALOG_MANAGED,
    _CATALOG_MANAGED.with_alias("catalogOwned-preview"),
    Feature(
        name="icebergCompatV1",
        requires=("columnMapping",),
        demanded=_flag(properties.ICEBERG_COMPAT_V1),
        allows=READS | {TableOperation.CHECKPOINT, TableOperation.VACUUM},
        auto_upgrade=True,
    ),
    Feature(
        name="icebergCompatV2",
        requires=("columnMapping",),
        demanded=_flag(properties.ICEBERG_COMPAT_V2),
        allows=READS | {TableOperation.CHECKPOINT, TableOperation.VACUUM},
        auto_upgrade=True,
    ),
    _CLUSTERING,
    _CLUSTERING.with_alias("liquid"),
    Feature(name="vacuumProtocolCheck", kind=_READER, removal=Removal.WITH_HISTORY),
    Feature(
        name="inCommitTimestamp",
        demanded=_flag(properties.IN_COMMIT_TIMESTAMPS),
        auto_upgrade=True,
        removal=Removal.YES,
    ),
    _TYPE_WIDENING,
    _TYPE_WIDENING.with_alias("typeWidening-preview"),
    _VARIANT,
    _VARIANT.with_alias("variantType-preview"),
    _VARIANT_SHREDDING,
    _VARIANT_SHREDDING.with_alias("variantShredding-preview"),
    Feature(
        name="allowColumnDefaults",
        demanded=_has_column_key("CURRENT_DEFAULT"),
        by_metadata=True,
        aborts_concurrents=True,
    ),
    # Features that real writers use, without a section in the protocol.
    Feature(
        name="checkpointProtection",
        use=lambda facts: properties.CHECKPOINT_PROTECTION_VERSION.read(facts.configuration) > 0,
        removal=Removal.WITH_HISTORY,
        aborts_concurrents=True,
    ),
    Feature(
        name="materializePartitionColumns",
        demanded=_flag(properties.MATERIALIZE_PARTITION_COLUMNS),
        allows=READS | _UPKEEP,
        auto_upgrade=True,
        removal=Removal.YES,
        aborts_concurrents=True,
    ),
    Feature(
        name="icebergCompatV3",
        requires=("columnMapping", "rowTracking"),
        demanded=_flag(properties.ICEBERG_COMPAT_V3),
        allows=READS | {TableOperation.CHECKPOINT, TableOperation.VACUUM},
        auto_upgrade=True,
    ),
    Feature(
        name="icebergWriterCompatV1",
        requires=("icebergCompatV2",),
        demanded=_flag(properties.ICEBERG_WRITER_COMPAT_V1),
        allows=READS | {TableOperation.CHECKPOINT, TableOperation.VACUUM},
    ),
    Feature(
        name="icebergWriterCompatV3",
        requires=("icebergCompatV3",),
        demanded=_flag(properties.ICEBERG_WRITER_COMPAT_V3),
        allows=READS | {TableOperation.CHECKPOINT, TableOperation.VACUUM},
    ),
    _COLLATIONS,
    _COLLATIONS.with_alias("collations-preview"),
    _GEOSPATIAL,
    _GEOSPATIAL.with_alias("geospatial-dev"),
    Feature(name="adaptiveMetadata-preview", kind=_READER, use=_always, allows=_NONE),
    Feature(
        name="coordinatedCommits-preview",
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        use=_has_key("delta.coordinatedCommits.commitCoordinator"),
        allows=READS,
        removal=Removal.YES,
        aborts_concurrents=True,
    ),
    Feature(
        name="redirectReaderWriter-preview",
        kind=_READER,
        use=_has_key("delta.redirectReaderWriter"),
        allows=_NONE,
        removal=Removal.WITH_HISTORY,
    ),
    Feature(
        name="redirectWriterOnly-preview",
        use=_has_key("delta.redirectWriterOnly"),
        allows=READS,
        removal=Removal.YES,
    ),
    Feature(name="columnMappingUsageTracking", use=_always, allows=READS),
    Feature(name="concurrentIdentityColumns", use=_always, allows=READS),
    Feature(name="timestampNanos", kind=_READER, use=_always, allows=_NONE),
)

# All known features, by their names in the log.
FEATURES: Mapping[str, Feature] = {row.name: row for row in _ROWS}

_BY_FOLDED_NAME = {name.lower(): row for name, row in FEATURES.items()}


def find_feature(name: str) -> Feature | None:
    """Finds a feature by name, ignoring case."""
    return _BY_FOLDED_NAME.get(name.lower())


def with_requirements(names: frozenset[str]) -> frozenset[str]:
    """Returns `names` and, recursively, all features that they require."""
    closed = set(names)
    pending = list(names)
    while pending:
        row = FEATURES.get(pending.pop())
        missing = [name for name in (row.requires if row else ()) if not is_listed(name, frozenset(closed))]
        closed.update(missing)
        pending.extend(missing)
    return frozenset(closed)


@lru_cache(maxsize=4096)
def is_listed(name: str, names: frozenset[str]) -> bool:
    """Returns True if `names` contains the feature under this name or an alias."""
    return name in names or any(
        row.canonical_name == name for row in (FEATURES.get(other) for other in names) if row is not None
    )


def demanded_features(facts: MetadataFacts) -> frozenset[str]:
    """Returns the features that the metadata requires."""
    return frozenset(row.name for row in _ROWS if row.demanded(facts))
