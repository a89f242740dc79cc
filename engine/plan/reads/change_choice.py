"""Which files of a change data feed a condition leaves: what its scan answers when Spark plans with the filters it has.

The feed's own columns are constants of a file as partition columns are, so a condition on versions, times or, in data
files, kinds of changes leaves files out; statistics are known of added files alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.pruning.snapshot_pruning import batch_pruning
from engine.plans.reads import ChosenFiles
from engine.pruning.predicates import Predicate
from engine.pruning.table_columns import TableColumns
from engine.runtime.profile import TableRead


@dataclass(frozen=True)
class ChangeChoice:
    """Files of a feed, of `FEED_FILES_SCHEMA`, asked by condition; safe to share between threads."""

    label: str
    versions: range
    columns: TableColumns
    files: pa.Table

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        """As `Choice.choose`."""
        batches = self.files.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], self.files.schema)]
        pruning = batch_pruning(batches[0], replace(self.columns, time_zone=zone))
        kept = pruning.prune(predicate)
        sizes = self.files["size"]
        read = TableRead(
            label=self.label,
            version=self.versions.stop - 1,
            since=self.versions.start,
            files_total=len(self.files),
            bytes_total=pc.sum(sizes).as_py() or 0,
            files_partition=int(np.count_nonzero(pruning.partition_mask(predicate).mask)),
            files=int(np.count_nonzero(kept)),
            bytes=pc.sum(sizes.filter(pa.array(kept))).as_py() or 0,
        )
        return ChosenFiles(None if kept.all() else pa.array(np.flatnonzero(kept)), read)
