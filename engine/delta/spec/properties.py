"""Table properties: the meaning of each `delta.*` key in a table's configuration.

`PROPERTIES` has one row per key, with its parser and default. Three rules:

* *Reading preserves all keys.* Unknown keys and other products' keys stay in the configuration.
* *Setting rejects unknown keys*, so that a misspelled key is an error and not a silent no-op (`parse_setting`). Keys
  match without regard to case and are stored in their canonical spelling.
* *A value that cannot be parsed* was written by another writer. If ignoring it could corrupt or misread the table, the
  property is `strict` and raises; a tuning value falls back to its default.

`delta.minReaderVersion`, `delta.minWriterVersion` and `delta.feature.*` change the protocol action and are never
stored; `delta.constraints.*` contain CHECK constraints and have their own statements.

Source: "Table Properties" in the Delta documentation; names and defaults follow delta-spark 4.4.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from catalog.conditions import (
    DuplicateKey,
    InvalidTableProperty,
    ManifestPropertyWithDeletionVectors,
    PropertyNotSettable,
    UnknownTableProperty,
    UnsupportedClause,
)
from catalog.errors import ECHO_MAX
from engine.tables.keys import is_key_property

T = TypeVar("T")
Configuration: TypeAlias = Mapping[str, str | None]

DELTA_PREFIX = "delta."
# Prefix for session settings that provide new tables' default properties; the property's name follows without `delta.`.
DEFAULTS_PREFIX = "spark.databricks.delta.properties.defaults."
CONSTRAINT_PREFIX = "delta.constraints."
FEATURE_PREFIX = "delta.feature."
MIN_READER_VERSION = "delta.minReaderVersion"
MIN_WRITER_VERSION = "delta.minWriterVersion"

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_INTERVAL = re.compile(r"\s*(?:interval\s+)?((?:[+-]?\d+(?:\.\d+)?\s+[a-z]+\s*)+)", re.IGNORECASE)
_INTERVAL_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s+([a-z]+)")
_UNITS_MS = {
    "microsecond": 0.001,
    "millisecond": 1,
    "second": 1000,
    "minute": MINUTE_MS,
    "hour": HOUR_MS,
    "day": DAY_MS,
    "week": 7 * DAY_MS,
}
_SIZE = re.compile(r"\s*(\d+)\s*([kmgtp]?)(?:i?b)?\s*", re.IGNORECASE)
_SIZE_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}


def parse_boolean(text: str) -> bool:
    """Parses `true` or `false`, ignoring case."""
    try:
        return {"true": True, "false": False}[text.strip().lower()]
    except KeyError:
        raise ValueError("it must be true or false") from None


def parse_interval_ms(text: str) -> int:
    """Parses an interval such as `interval 30 days` or `1 week 12 hours` and returns milliseconds.

    Rejects months and years, which have no fixed length, and negative intervals.
    """
    matched = _INTERVAL.fullmatch(text)
    if matched is None:
        raise ValueError("it must be an interval such as 'interval 30 days'")
    total = 0.0
    for number, unit in _INTERVAL_PART.findall(matched[1].lower()):
        factor = _UNITS_MS.get(unit.removesuffix("s"))
        if factor is None:
            raise ValueError(f"{unit} is no unit of fixed length; use weeks, days, hours, minutes or seconds")
        total += float(number) * factor
    if total < 0:
        raise ValueError("it must not be negative")
    return round(total)


def parse_size_bytes(text: str) -> int:
    """Parses a size such as `104857600` or `100mb` and returns bytes."""
    matched = _SIZE.fullmatch(text)
    size = int(matched[1]) * _SIZE_FACTORS[matched[2].lower()] if matched else 0
    if size <= 0:
        raise ValueError("it must be a size such as '128mb'")
    return size


def _integer(minimum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("it must be an integer") from None
        if not minimum <= value < 2**63:
            raise ValueError(f"it must be an integer of at least {minimum}")
        return value

    return parse


def _enum_parser(*choices: str, folded: bool = True) -> Callable[[str], str]:
    """Returns a parser for one value from `choices`, which ignores case if `folded`."""

    def parse(text: str) -> str:
        for value in choices:
            if text == value or (folded and text.lower() == value.lower()):
                return value
        raise ValueError(f"it must be {' or '.join(choices)}")

    return parse


def _optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    return parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Property(Generic[T]):
    """A key in the table configuration."""

    key: str
    # Parses the stored text. A `ValueError` explains the expected form.
    parse: Callable[[str], T]
    default: T
    # True to reject an unreadable value instead of using the default.
    strict: bool = False
    # True if users may set the property. Only this product writes the others.
    settable: bool = True
    # The unprefixed key that the first logs used; read if the prefixed key is absent.
    early: str | None = None

    def read(self, configuration: Configuration) -> T:
        """Returns the value in `configuration`. Raises `InvalidTableProperty` for an unreadable strict property."""
        text = configuration.get(self.key)
        if text is None and self.early is not None:
            text = configuration.get(self.early)
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except ValueError as error:
            if self.strict:
                raise InvalidTableProperty(self.key, text, str(error)) from error
            return self.default


APPEND_ONLY = Property(key="delta.appendOnly", parse=parse_boolean, default=False, strict=True, early="appendOnly")
AUTO_COMPACT = Property(
    key="delta.autoOptimize.autoCompact", parse=_enum_parser("true", "false", "auto", "legacy"), default="false"
)
CHANGE_DATA_FEED = Property(key="delta.enableChangeDataFeed", parse=parse_boolean, default=False, strict=True)
CHECKPOINT_INTERVAL = Property(key="delta.checkpointInterval", parse=_integer(1), default=10)
# Maximum number of actions per checkpoint file; larger checkpoints are written in parts. In delta-spark this is a
# session setting.
CHECKPOINT_PART_SIZE = Property(key="delta.checkpoint.partSize", parse=_optional(_integer(1)), default=None)
CHECKPOINT_POLICY = Property(key="delta.checkpointPolicy", parse=_enum_parser("classic", "v2"), default="classic")
CHECKPOINT_RETENTION = Property(key="delta.checkpointRetentionDuration", parse=parse_interval_ms, default=2 * DAY_MS)
COLUMN_MAPPING_MODE = Property(
    key="delta.columnMapping.mode", parse=_enum_parser("none", "name", "id"), default="none", strict=True
)
COLUMN_MAPPING_MAX_ID = Property(
    key="delta.columnMapping.maxColumnId", parse=_integer(0), default=0, strict=True, settable=False
)
DATA_SKIPPING_COLUMNS = Property(key="delta.dataSkippingStatsColumns", parse=_optional(str), default=None)
DATA_SKIPPING_INDEXED_COLUMNS = Property(key="delta.dataSkippingNumIndexedCols", parse=_integer(-1), default=32)
DELETED_FILE_RETENTION = Property(
    key="delta.deletedFileRetentionDuration", parse=parse_interval_ms, default=7 * DAY_MS, strict=True
)
DELETION_VECTORS = Property(key="delta.enableDeletionVectors", parse=parse_boolean, default=False, strict=True)
DROP_FEATURE_RETENTION = Property(
    key="delta.dropFeatureTruncateHistory.retentionDuration", parse=parse_interval_ms, default=DAY_MS
)
EXPIRED_LOG_CLEANUP = Property(key="delta.enableExpiredLogCleanup", parse=parse_boolean, default=True)
ICEBERG_COMPAT_V1 = Property(key="delta.enableIcebergCompatV1", parse=parse_boolean, default=False, strict=True)
ICEBERG_COMPAT_V2 = Property(key="delta.enableIcebergCompatV2", parse=parse_boolean, default=False, strict=True)
ICEBERG_COMPAT_V3 = Property(key="delta.enableIcebergCompatV3", parse=parse_boolean, default=False, strict=True)
ICEBERG_WRITER_COMPAT_V1 = Property(
    key="delta.enableIcebergWriterCompatV1", parse=parse_boolean, default=False, strict=True
)
ICEBERG_WRITER_COMPAT_V3 = Property(
    key="delta.enableIcebergWriterCompatV3", parse=parse_boolean, default=False, strict=True
)
IN_COMMIT_TIMESTAMPS = Property(key="delta.enableInCommitTimestamps", parse=parse_boolean, default=False, strict=True)
ICT_ENABLEMENT_VERSION = Property(
    key="delta.inCommitTimestampEnablementVersion",
    parse=_optional(_integer(0)),
    default=None,
    strict=True,
    settable=False,
)
ICT_ENABLEMENT_TIMESTAMP = Property(
    key="delta.inCommitTimestampEnablementTimestamp",
    parse=_optional(_integer(0)),
    default=None,
    strict=True,
    settable=False,
)
ISOLATION_LEVEL = Property(
    key="delta.isolationLevel",
    parse=_enum_parser("Serializable", "WriteSerializable", "SnapshotIsolation"),
    default="Serializable",
    strict=True,
)
LOG_RETENTION = Property(key="delta.logRetentionDuration", parse=parse_interval_ms, default=30 * DAY_MS, strict=True)
MATERIALIZE_PARTITION_COLUMNS = Property(
    key="delta.enableMaterializePartitionColumnsFeature", parse=parse_boolean, default=False, strict=True
)
PARQUET_COMPRESSION = Property(
    key="delta.parquet.compression.codec",
    parse=_enum_parser("snappy", "zstd", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed", "none"),
    default="snappy",
)
PARQUET_FORMAT_VERSION = Property(
    key="delta.parquet.format.version", parse=_enum_parser("1.0.0", "2.12.0"), default="1.0.0"
)
RANDOM_PREFIX_LENGTH = Property(key="delta.randomPrefixLength", parse=_integer(1), default=2)
RANDOMIZE_FILE_PREFIXES = Property(key="delta.randomizeFilePrefixes", parse=parse_boolean, default=False)
CHECKPOINT_PROTECTION_VERSION = Property(
    key="delta.requireCheckpointProtectionBeforeVersion",
    parse=_integer(0),
    default=0,
    strict=True,
    settable=False,
)
ROW_TRACKING = Property(key="delta.enableRowTracking", parse=parse_boolean, default=False, strict=True)
ROW_TRACKING_SUSPENDED = Property(key="delta.rowTrackingSuspended", parse=parse_boolean, default=False, strict=True)
ROW_ID_COLUMN = Property(
    key="delta.rowTracking.materializedRowIdColumnName", parse=_optional(str), default=None, settable=False
)
ROW_COMMIT_VERSION_COLUMN = Property(
    key="delta.rowTracking.materializedRowCommitVersionColumnName",
    parse=_optional(str),
    default=None,
    settable=False,
)
OPTIMIZE_WRITE = Property(key="delta.autoOptimize.optimizeWrite", parse=_optional(parse_boolean), default=None)
SET_TRANSACTION_RETENTION = Property(
    key="delta.setTransactionRetentionDuration", parse=_optional(parse_interval_ms), default=None
)
STATS_AS_JSON = Property(key="delta.checkpoint.writeStatsAsJson", parse=parse_boolean, default=True)
STATS_AS_STRUCT = Property(key="delta.checkpoint.writeStatsAsStruct", parse=parse_boolean, default=True)
SYMLINK_MANIFEST = Property(key="delta.compatibility.symlinkFormatManifest.enabled", parse=parse_boolean, default=False)
TARGET_FILE_SIZE = Property(key="delta.targetFileSize", parse=_optional(parse_size_bytes), default=None)
TYPE_WIDENING = Property(key="delta.enableTypeWidening", parse=parse_boolean, default=False, strict=True)
VARIANT_SHREDDING = Property(key="delta.enableVariantShredding", parse=parse_boolean, default=False, strict=True)
WRITE_PARTITION_COLUMNS = Property(
    key="delta.writePartitionColumnsToParquet", parse=_optional(parse_boolean), default=None
)

# Keys that other products use: accepted and preserved, without effect here.
_HINTS: tuple[Property[Any], ...] = (
    Property(key="delta.autoOptimize", parse=parse_boolean, default=False),
    Property(key="delta.tuneFileSizesForRewrites", parse=parse_boolean, default=False),
    Property(key="delta.sampleRetentionDuration", parse=parse_interval_ms, default=7 * DAY_MS),
    Property(key="delta.enableFullRetentionRollback", parse=parse_boolean, default=True),
)

_ACTED_UPON: tuple[Property[Any], ...] = tuple(item for item in list(vars().values()) if isinstance(item, Property))
# All known properties, by their spelling in the log.
PROPERTIES: Mapping[str, Property[Any]] = {item.key: item for item in (*_ACTED_UPON, *_HINTS)}

# Other products store CLUSTER BY columns under this key in their catalogs; it has no meaning in a log.
_CLUSTERING_COLUMNS = "clusteringcolumns"
# Delta UniForm generates Iceberg or Hudi metadata after each commit.
_UNIVERSAL_FORMAT = "delta.universalformat."
_ALIASES = {"delta.enablechangedatacapture": CHANGE_DATA_FEED}
_EARLY = {item.early.lower(): item for item in _ACTED_UPON if item.early is not None}
_BY_FOLDED_KEY = {key.lower(): item for key, item in PROPERTIES.items()} | _ALIASES | _EARLY


def parse_setting(key: str, value: str) -> tuple[str, str]:
    """Returns the key and value that a user's `SET TBLPROPERTIES (key = value)` stores.

    Keys without the `delta.` prefix belong to the user and pass, except for unprefixed early names. Values are stored
    as written, except that enumerated values take their canonical spelling.

    The caller must handle protocol and constraint keys first. Raises `UnknownTableProperty`, `PropertyNotSettable`,
    `InvalidTableProperty`, and `UnsupportedClause` for UniForm.
    """
    folded = key.lower()
    if folded == _CLUSTERING_COLUMNS:
        raise PropertyNotSettable(key)
    known = _BY_FOLDED_KEY.get(folded)
    if known is None and not folded.startswith(DELTA_PREFIX):
        return key, value
    if folded.startswith(_UNIVERSAL_FORMAT):
        advice = "Use CREATE TABLE … USING iceberg: Iceberg metadata is not generated for Delta tables."
        raise UnsupportedClause(f"The table property {key}", advice)
    if known is None:
        raise UnknownTableProperty(key, nearest(key))
    if not known.settable:
        raise PropertyNotSettable(known.key)
    try:
        parsed = known.parse(value)
    except ValueError as error:
        raise InvalidTableProperty(known.key, value, str(error)) from error
    if known is ISOLATION_LEVEL and parsed != ISOLATION_LEVEL.default:
        raise InvalidTableProperty(known.key, value, f"it must be {ISOLATION_LEVEL.default}")
    return known.key, parsed if isinstance(parsed, str) else value.strip()


def format_default(known: Property[object]) -> str | None:
    """Returns a property's default as its text in a log, or None if it has none."""
    match known.default:
        case None:
            return None
        case bool(value):
            return str(value).lower()
        case int(value) if known.parse is parse_interval_ms:
            return f"interval {value // DAY_MS} days"
        case value:  # any other type
            return str(value)


def default_properties(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties that session settings give to every new table."""
    return {
        DELTA_PREFIX + key.removeprefix(DEFAULTS_PREFIX): value
        for key, value in settings.items()
        if key.startswith(DEFAULTS_PREFIX)
    }


def is_settable(key: str) -> bool:
    """Returns True if statements may set the key."""
    known = PROPERTIES.get(key)
    return key.lower() != _CLUSTERING_COLUMNS and not is_key_property(key) and (known is None or known.settable)


def canonical_key(key: str) -> str:
    """Returns the spelling under which a key is stored; unknown keys are returned unchanged."""
    known = _BY_FOLDED_KEY.get(key.lower())
    return known.key if known else key


def ensure_distinct(keys: Iterable[str]) -> None:
    """Raises `DuplicateKey` if two spellings of the same Delta property occur. Users' own keys are case-sensitive."""
    seen: dict[str, str] = {}
    for key in keys:
        stored = canonical_key(key)
        if stored.lower().startswith(DELTA_PREFIX):
            stored = stored.lower()
        if stored in seen:
            raise DuplicateKey("TBLPROPERTIES", f"{seen[stored]}, also as {key},")
        seen[stored] = key


def nearest(key: str) -> str:
    """Returns the known key that `key` probably means."""
    names = list(_BY_FOLDED_KEY)
    close = difflib.get_close_matches(key[:ECHO_MAX].lower(), names, n=1, cutoff=0)
    return _BY_FOLDED_KEY[close[0]].key


def ensure_consistent(configuration: Configuration) -> None:
    """Raises `InvalidTableProperty` or a more specific error if two properties contradict each other."""
    if SYMLINK_MANIFEST.read(configuration) and DELETION_VECTORS.read(configuration):
        raise ManifestPropertyWithDeletionVectors()
    log, files = LOG_RETENTION.read(configuration), DELETED_FILE_RETENTION.read(configuration)
    if log < files:
        text = configuration.get(LOG_RETENTION.key) or "interval 30 days"
        raise InvalidTableProperty(
            LOG_RETENTION.key, text, f"it must be at least as long as {DELETED_FILE_RETENTION.key}"
        )
