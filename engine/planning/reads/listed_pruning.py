"""File pruning without a snapshot: listed files, and the change data feed's files.

Both use each file's constants and statistics. The feed's own columns are constants of a file, like partition columns,
so a condition on versions, times or, in data files, change types prunes files; only added files have statistics.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.binding.bound import BoundFiles
from engine.pruning.estimates import Estimate
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning, Rows
from engine.pruning.table_columns import TableColumns
from engine.tables.changes import ChangeFiles, TableChanges
from engine.tables.scan import PrunedFiles, TableRead
from engine.types.schema import StructType


@dataclass(frozen=True)
class ListedFilePruning:
    """Prunes listed files; thread-safe."""

    files: BoundFiles

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        """Implements `Pruning.choose`."""
        listed = self.files
        columns = TableColumns(
            schema=listed.schema or StructType(()), partition_columns=listed.partition_columns, time_zone=zone
        )
        pruning = FilePruning(columns, listed.files.num_rows, self._texts, self._statistics)
        selected = pruning.prune(predicate)
        sizes = listed.files["size"]
        read = TableRead(
            label=listed.label,
            version=0,
            files_total=len(sizes),
            bytes_total=pc.sum(sizes).as_py() or 0,
            files_partition=int(np.count_nonzero(pruning.partition_mask(predicate).mask)),
            files=int(np.count_nonzero(selected)),
            bytes=pc.sum(sizes.filter(pa.array(selected))).as_py() or 0,
        )
        return PrunedFiles(None if selected.all() else pa.array(np.flatnonzero(selected)), read)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """Implements `Pruning.estimate`; rows are not counted."""
        read = self.choose(predicate, zone).read
        return Estimate(files=read.files, bytes=read.bytes)

    def _texts(self, name: str) -> pa.ChunkedArray:
        values = self.files.files["partition_values"].combine_chunks()
        return pa.chunked_array([pc.map_lookup(values, pa.scalar(name), "last").cast(pa.string()).dictionary_encode()])

    def _statistics(self, rows: Rows | None, columns: Collection[str]) -> pa.Table:
        """Returns statistics in Delta's form: a value that is unknown for every file is null for all."""
        known, count = self.files.statistics, self.files.files.num_rows
        bounds = known.schema.field("max_values").type if known is not None else pa.struct([])
        nothing = {name: pa.nulls(count, kind) for name, kind in (("num_records", pa.int64()), ("min_values", bounds))}
        highest = pa.nulls(count, bounds) if known is None else known["max_values"]
        whole = pa.table({**nothing, "max_values": highest, "null_count": pa.nulls(count, pa.struct([]))})
        return whole if rows is None else whole.take(pa.array(rows))


@dataclass(frozen=True)
class ChangeFilePruning:
    """Prunes a feed's files by condition; thread-safe."""

    label: str
    feed: TableChanges
    kind: ChangeFiles

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        """Implements `Pruning.choose`."""
        pruning = self.feed.pruning(self.kind, zone)
        versions = self.feed.versions
        selected = pruning.prune(predicate)
        sizes = self.kind.files["size"]
        read = TableRead(
            label=self.label,
            version=versions[-1],
            since=versions[0],
            files_total=len(self.kind.files),
            bytes_total=pc.sum(sizes).as_py() or 0,
            files_partition=int(np.count_nonzero(pruning.partition_mask(predicate).mask)),
            files=int(np.count_nonzero(selected)),
            bytes=pc.sum(sizes.filter(pa.array(selected))).as_py() or 0,
        )
        return PrunedFiles(None if selected.all() else pa.array(np.flatnonzero(selected)), read)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """Implements `Pruning.estimate`; rows are not counted."""
        read = self.choose(predicate, zone).read
        return Estimate(files=read.files, bytes=read.bytes)
