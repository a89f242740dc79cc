"""Snapshot summaries: added and removed counts, and totals that continue the parent's.

Totals that the parent lacks, or that would become negative, are unknown and omitted.

Source: Iceberg table specification, "Snapshots" and "Appendix F: Implementation Notes" (optional snapshot summary).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.manifests.manifest import DATA, EQUALITY_DELETES, PARTITION_PREFIX, POSITION_DELETES, SPEC_ID

PUFFIN = "puffin"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCounts:
    """File counts, row counts, and total bytes; a vector counts its own bytes."""

    data_files: int = 0
    records: int = 0
    files_size: int = 0
    delete_files: int = 0
    position_delete_files: int = 0
    dvs: int = 0
    equality_delete_files: int = 0
    position_deletes: int = 0
    equality_deletes: int = 0

    def __add__(self, other: FileCounts) -> FileCounts:
        return FileCounts(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


_COUNTS = ("data_files", "records", "files_size", "delete_files", "position_deletes", "equality_deletes")
# Counts that summaries call deleted rather than removed.
_DELETED = frozenset(["data_files", "records"])


def counts_of(tables: Iterable[pa.Table]) -> FileCounts:
    """Returns the entries' counts."""
    return sum((_counts(table) for table in tables if table.num_rows), FileCounts())


def _counts(entries: pa.Table) -> FileCounts:
    content, rows = entries["content"], entries["record_count"]
    is_vector = pc.equal(pc.utf8_lower(entries["file_format"]), PUFFIN)
    data, equality = pc.equal(content, DATA), pc.equal(content, EQUALITY_DELETES)
    positions = pc.equal(content, POSITION_DELETES)
    sizes = pc.coalesce(entries["content_size_in_bytes"], entries["file_size_in_bytes"])
    return FileCounts(
        data_files=_sum(data),
        records=_sum(rows.filter(data)),
        files_size=_sum(sizes),
        delete_files=_sum(pc.invert(data)),
        position_delete_files=_sum(pc.and_(positions, pc.invert(is_vector))),
        dvs=_sum(pc.and_(positions, is_vector)),
        equality_delete_files=_sum(equality),
        position_deletes=_sum(rows.filter(positions)),
        equality_deletes=_sum(rows.filter(equality)),
    )


def _sum(values: pa.ChunkedArray) -> int:
    return int(pc.sum(values).as_py() or 0)


def num_partitions(tables: Iterable[pa.Table]) -> int:
    """Returns the number of distinct partitions among the entries."""
    listed = [_partitions(table) for table in tables if table.num_rows]
    if not listed:
        return 0
    together = pa.concat_tables(listed, promote_options="default")
    return int(together.group_by(together.column_names).aggregate([]).num_rows)


def _partitions(entries: pa.Table) -> pa.Table:
    names = [
        each.name
        for each in entries.schema
        if each.name.startswith(PARTITION_PREFIX) and each.name[1:].isdecimal() and not pa.types.is_null(each.type)
    ]
    return entries.select([SPEC_ID, *names])


def summary_of(
    operation: str,
    added: FileCounts,
    removed: FileCounts,
    parent: Mapping[str, str] | None,
    others: Mapping[str, int | str],
) -> dict[str, str]:
    """Returns the summary. `parent` is the parent's summary, None without one; `others` are further entries.

    Zeros are omitted, except in totals.
    """
    found: dict[str, int | str] = {"operation": operation}
    for name in (each.name for each in fields(FileCounts)):
        gone = "deleted" if name in _DELETED else "removed"
        words = name.replace("_", "-")
        found |= {f"added-{words}": getattr(added, name), f"{gone}-{words}": getattr(removed, name)}
    found = {name: value for name, value in found.items() if value != 0}
    for name in _COUNTS:
        words = f"total-{name.replace('_', '-')}"
        before = "0" if parent is None else parent.get(words, "")
        total = int(before) + getattr(added, name) - getattr(removed, name) if before.isdecimal() else -1
        if total >= 0:
            found[words] = total
    return {name: str(value) for name, value in (found | dict(others)).items()}
