"""Table properties: which may be set, and what they say of writing.

Some names are reserved for what metadata says elsewhere, `format-version` among them, which upgrades the table. What a
writer would have to obey and this one does not is refused where it is set, and before anything is written.

`retries_of` reads how often a commit to the table is tried.

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

COMMENT = "comment"
"""The property that holds a table's comment."""
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
"""Properties that have few values; of some of them fewer here than in the specification."""


def ensure_settable(table: str, key: str, value: str) -> None:
    """Raises `IcebergPropertyRefused`."""
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
    """Raises `IcebergPropertyRefused`."""
    if value not in map(str, range(1, FORMAT_VERSION_MAX + 1)):
        raise IcebergPropertyRefused(table, FORMAT_VERSION, f"{value!r} is none of 1, 2, 3")
    return int(value)


def ensure_writable(
    table: str, properties: Mapping[str, str], spec: PartitionSpec, order: SortOrder, *, with_files: bool
) -> None:
    """Raises `IcebergFeatureNotSupported` for what a writer has to do and this one does not. Who writes metadata alone
    (not `with_files`) need not write data files as they are to be, and may change how.
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
    """In bytes; None where nothing is said."""
    text = properties.get(TARGET_FILE_SIZE, "")
    return int(text) if text.isdecimal() and int(text) else None


NUM_RETRIES = "commit.retry.num-retries"
MIN_WAIT_MS = "commit.retry.min-wait-ms"
MAX_WAIT_MS = "commit.retry.max-wait-ms"
TOTAL_TIMEOUT_MS = "commit.retry.total-timeout-ms"
_DIGITS_MAX = 18
"""Of a number of 64 bits that surely fits."""


def retries_of(properties: Mapping[str, str], policy: RetryPolicy) -> RetryPolicy:
    """`policy` with what the properties say. A value that is no whole number of 64 bits says nothing."""

    def said(key: str) -> int | None:
        text = properties.get(key, "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX else None

    retries, shortest, longest, total = map(said, (NUM_RETRIES, MIN_WAIT_MS, MAX_WAIT_MS, TOTAL_TIMEOUT_MS))
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
