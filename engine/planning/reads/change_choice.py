"""Which files of a change data feed a condition leaves: what its scan answers when Spark plans with the filters it has.

The feed's own columns are constants of a file as partition columns are, so a condition on versions, times or, in data
files, kinds of changes leaves files out; statistics are known of added files alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.pruning.estimates import Estimate
from engine.pruning.predicates import Predicate
from engine.tables.changes import ChangeFiles, TableChanges
from engine.tables.scan import ChosenFiles, TableRead


@dataclass(frozen=True)
class ChangeChoice:
    """Files of a feed, asked by condition; safe to share between threads."""

    label: str
    feed: TableChanges
    kind: ChangeFiles

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> ChosenFiles:
        """As `Choice.choose`."""
        pruning, versions = self.feed.pruning(self.kind, zone), self.feed.versions
        kept = pruning.prune(predicate)
        sizes = self.kind.files["size"]
        read = TableRead(
            label=self.label,
            version=versions[-1],
            since=versions[0],
            files_total=len(self.kind.files),
            bytes_total=pc.sum(sizes).as_py() or 0,
            files_partition=int(np.count_nonzero(pruning.partition_mask(predicate).mask)),
            files=int(np.count_nonzero(kept)),
            bytes=pc.sum(sizes.filter(pa.array(kept))).as_py() or 0,
        )
        return ChosenFiles(None if kept.all() else pa.array(np.flatnonzero(kept)), read)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """As `Choice.estimate`; rows are not counted."""
        read = self.choose(predicate, zone).read
        return Estimate(files=read.files, bytes=read.bytes)
