"""Kinds of random foreign tables, and those in the ordinary run.

`make fuzz-tables KINDS="all"` takes every kind, `KINDS="a,b"` the given ones in addition to the ordinary ones.
"""

from __future__ import annotations

import os
from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    PARTITIONS = "partitions"
    IN_FILES = "partition columns in files"
    PAGE_INDEX = "page indexes"
    BLOOM_FILTERS = "bloom filters"
    NULLS = "nulls"
    STATISTICS = "statistics"
    BY_NAME = "mapping by name"
    BY_ID = "mapping by id"
    REMOVES = "removed files"
    VECTORS = "deletion vectors"
    DEAD_METADATA = "dead metadata of legacy protocols"
    DEAD_METADATA_ALTERED = "dead metadata after an ALTER"
    CHECKPOINT = "checkpoint"
    CHECKPOINT_DOUBLED = "checkpoint not reconciled"
    COMPACTION = "log compaction"
    COMPACTION_DOUBLED = "log compaction not reconciled"
    ABSOLUTE_PATHS = "absolute paths"


# Kind -> is it in every run?
ORDINARY = MappingProxyType(
    {
        Kind.PARTITIONS: True,
        Kind.IN_FILES: True,
        Kind.PAGE_INDEX: True,
        Kind.BLOOM_FILTERS: True,
        Kind.NULLS: True,
        Kind.STATISTICS: True,
        Kind.BY_NAME: True,
        Kind.BY_ID: True,
        Kind.REMOVES: True,
        Kind.VECTORS: True,
        Kind.DEAD_METADATA: True,
        Kind.DEAD_METADATA_ALTERED: True,
        Kind.CHECKPOINT: True,
        Kind.CHECKPOINT_DOUBLED: True,
        Kind.COMPACTION: True,
        Kind.COMPACTION_DOUBLED: True,
        Kind.ABSOLUTE_PATHS: True,
    }
)

# A table has at most one.
EXCLUSIVE = (
    (Kind.BY_NAME, Kind.BY_ID),
    (Kind.CHECKPOINT, Kind.CHECKPOINT_DOUBLED, Kind.COMPACTION, Kind.COMPACTION_DOUBLED),
)

# Kinds with broken logs, for which a named error is accepted instead of the rows.
MAY_BE_REFUSED = frozenset({Kind.CHECKPOINT_DOUBLED})


def selected_kinds() -> frozenset[Kind]:
    """Returns the ordinary kinds, with those in `FUZZ_KINDS`."""
    requested = os.environ.get("FUZZ_KINDS", "")
    if requested == "all":
        return frozenset(Kind)
    named = (Kind(name.strip()) for name in requested.split(",") if name.strip())
    return frozenset({kind for kind, is_ordinary in ORDINARY.items() if is_ordinary} | set(named))
