"""Table properties: which can be set, and their meaning for writes.

Some names are reserved for metadata fields; among them `format-version` upgrades the table. Properties that a writer
must obey and this one does not support are rejected when they are set, and before anything is written.

`retries_of` reads the commit retry properties.

Source: Iceberg documentation, "Configuration", "Reserved table properties".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from catalog.conditions import IcebergFeatureNotSupported, IcebergPropertyRefused
from engine.concurrency.retry import RetryPolicy
from engine.iceberg.spec.metadata import FORMAT_VERSION_MAX
from engine.iceberg.spec.partitions import PartitionSpec, TransformKind
from engine.iceberg.spec.sort_orders import SortOrder

# The property for a table's comment.
COMMENT = "comment"
FORMAT_VERSION = "format-version"
DEFAULT_FORMAT_VERSION = 2
TARGET_FILE_SIZE = "write.target-file-size-bytes"
DISTRIBUTION_MODE = "write.distribution-mode"
NAME_MAPPING = "schema.name-mapping.default"
GC_ENABLED = "gc.enabled"

_RESERVED = frozenset(
    {
        "uuid",
        "snapshot-count",
        "current-snapshot-summary",
        "current-snapshot-id",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
        "identifier-fields",
        "location",
        "provider",
        "format",
    }
)
_ELSEWHERE = ("write.metadata.path", "write.data.path", "write.folder-storage.path", "write.object-storage.path")
# Properties with an enumerated value; for some, fewer values than in the specification.
_CHOICES: Mapping[str, frozenset[str]] = {
    "write.format.default": frozenset({"parquet"}),
    "write.delete.format.default": frozenset({"parquet"}),
    "write.object-storage.enabled": frozenset({"false"}),
    "write.metadata.compression-codec": frozenset({"none", "gzip"}),
    "write.parquet.compression-codec": frozenset({"zstd", "snappy", "gzip", "lz4", "uncompressed"}),
    DISTRIBUTION_MODE: frozenset({"none", "hash", "range"}),
    **{f"write.{kind}.mode": frozenset({"copy-on-write", "merge-on-read"}) for kind in ("delete", "update", "merge")},
    **{
        f"write.{kind}.isolation-level": frozenset({"serializable", "snapshot"})
        for kind in ("delete", "update", "merge")
    },
}


def ensure_settable(table: str, key: str, value: str) -> None:
    """Raises `IcebergPropertyRefused` if the property cannot be set."""
    if key.lower().startswith("delta."):
        raise IcebergPropertyRefused(table, key, "it is a property of Delta tables")
    if key in _RESERVED:
        raise IcebergPropertyRefused(table, key, "the name is reserved for what the metadata says elsewhere")
    if key in _ELSEWHERE:
        raise IcebergPropertyRefused(table, key, "all files of a table are written below its folder")
    choices = _CHOICES.get(key)
    if choices is not None and value.lower() not in choices:
        raise IcebergPropertyRefused(table, key, f"{value!r} is none of {', '.join(sorted(choices))}")
    if key == TARGET_FILE_SIZE and (not value.isdecimal() or not int(value)):
        raise IcebergPropertyRefused(table, key, f"{value!r} is no number of bytes")


def parse_format_version(table: str, value: str) -> int:
    """Parses a format version. Raises `IcebergPropertyRefused`."""
    if value not in map(str, range(1, FORMAT_VERSION_MAX + 1)):
        raise IcebergPropertyRefused(table, FORMAT_VERSION, f"{value!r} is none of 1, 2, 3")
    return int(value)


def ensure_writable(
    table: str, properties: Mapping[str, str], spec: PartitionSpec, order: SortOrder, *, with_files: bool
) -> None:
    """Raises `IcebergFeatureNotSupported` if the table requires a write feature that is not supported.

    A metadata-only commit (not `with_files`) need not satisfy requirements on data files, and may change them.
    """
    for key in _ELSEWHERE if with_files else _ELSEWHERE[:1]:
        if properties.get(key):
            raise IcebergFeatureNotSupported(table, f"files in another place (the property {key})")
    for key in ("write.format.default", "write.object-storage.enabled"):
        value = properties.get(key, "").lower()
        if with_files and value and value not in _CHOICES[key]:
            raise IcebergFeatureNotSupported(table, f"the property {key} = {value}")
    transforms = [*(field.transform for field in spec.fields), *(field.transform for field in order.fields)]
    if any(each.kind is TransformKind.UNKNOWN for each in transforms):
        raise IcebergFeatureNotSupported(table, "a partition or sort transform that is not known")


def target_file_size(properties: Mapping[str, str]) -> int | None:
    """Returns the target file size in bytes; None if not set."""
    text = properties.get(TARGET_FILE_SIZE, "")
    return int(text) if text.isdecimal() and int(text) else None


NUM_RETRIES = "commit.retry.num-retries"
MIN_WAIT_MS = "commit.retry.min-wait-ms"
MAX_WAIT_MS = "commit.retry.max-wait-ms"
TOTAL_TIMEOUT_MS = "commit.retry.total-timeout-ms"
# The digits that surely fit into 64 bits.
_DIGITS_MAX = 18


def retries_of(properties: Mapping[str, str], policy: RetryPolicy) -> RetryPolicy:
    """Returns `policy`, adjusted by the properties. A value that is not a 64-bit integer is ignored."""

    def parse_count(key: str) -> int | None:
        text = properties.get(key, "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX else None

    retries, shortest, longest, total = map(parse_count, (NUM_RETRIES, MIN_WAIT_MS, MAX_WAIT_MS, TOTAL_TIMEOUT_MS))
    return replace(
        policy,
        rebases_max=policy.rebases_max if retries is None else retries + 1,
        pause_min_s=policy.pause_min_s if shortest is None else shortest / 1000,
        pause_max_s=policy.pause_max_s if longest is None else longest / 1000,
        rebase_pause_max_s=max(policy.rebase_pause_max_s, (shortest or 0) / 1000)
        if longest is None
        else longest / 1000,
        rebase_s_max=policy.rebase_s_max if total is None else total / 1000,
    )
