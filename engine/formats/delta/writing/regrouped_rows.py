"""Bins of files become new files of a Delta table, with the tags and the clustering provider that they get.

How rows become files is `engine.execution.writes.rearranged_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from engine.binding.bound import BoundTable
from engine.delta.commit.new_files import NewFiles
from engine.execution.writes.rearranged_rows import rearranged_rows
from engine.formats.delta.delta_format import delta_files
from engine.planning.plans.write_plan import Arrangement
from engine.spark.execution_context import ExecutionContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Regrouping:
    """The files of `bins`, of `FILES_SCHEMA`, and how their rows become files. What comes has `tags`."""

    bins: Sequence[pa.Table]
    arrangement: Arrangement
    tags: Mapping[str, str] | None = None
    clustering_provider: str | None = None


@contextmanager
def regrouped_rows(table: BoundTable, regrouping: Regrouping, context: ExecutionContext) -> Iterator[NewFiles]:
    """The rows in new files; if the block that commits them fails, these go."""
    with rearranged_rows(table, regrouping.bins, regrouping.arrangement, context) as written:
        new = delta_files(written)
        adds = (
            replace(add, data_change=False, tags=regrouping.tags, clustering_provider=regrouping.clustering_provider)
            for add in new.adds
        )
        yield replace(new, adds=tuple(adds))
