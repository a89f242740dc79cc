"""The data files of a table as a list, for those who look at how its rows lie."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import BIGINT, STRING, STRING_MAP, small_result
from engine.statements.listings.statement import ListFiles

_COLUMNS = {"path": STRING, "size": BIGINT, "rows": BIGINT, "deleted_rows": BIGINT, "partition": STRING_MAP}


def list_files(bound: BoundStatement, statement: ListFiles) -> Outcome:
    """The largest first, with their live rows where statistics tell them; `deleted_rows` are in deletion vectors."""
    snapshot = bound.tables[0].snapshot
    counted = snapshot.counted_files(())
    files = counted.files
    order = np.argsort(-files["size"].to_numpy(), kind="stable")[: statement.limit]
    taken, rows = files.take(pa.array(order)), counted.live_rows()[order]
    texts = snapshot.partition_texts().take(pa.array(order))
    names = snapshot.partition_columns
    physical = snapshot.columns().physical_partition_columns
    values = [texts.column(key).cast(pa.string()).to_pylist() for key in physical]
    partitions = [list(zip(names, each, strict=True)) for each in zip(*values, strict=True)] or [[]] * len(order)
    vectors = taken["deletion_vector"]
    deleted = pc.if_else(vectors.is_valid(), pc.struct_field(vectors, "cardinality"), 0)
    cells = (
        taken["path"].to_pylist(),
        taken["size"].to_pylist(),
        [int(count) if count >= 0 else None for count in rows],
        deleted.to_pylist(),
        partitions,
    )
    return Outcome(result=small_result(_COLUMNS, zip(*cells, strict=True)))
