"""Materialized rows: a query's rows, stored in files while a statement reads them more than once.

They must be the same rows each time, even for a volatile query (`rand()`, a table that is being written). The files are
next to the table's, where every executor can read them; no version ever contains them. They are removed when the
statement ends, and VACUUM removes leftovers after a crash. Few rows are not shuffled into one file: they are read once
or twice, and removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.execution.writes.staged_files import discard
from engine.planning.plans.file_writes import FieldMatching, RowWriting, WriteTarget, WrittenFile
from engine.planning.plans.reads import ReadPlan
from engine.planning.semantics.query_columns import materialized_columns
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.composed import Names
from engine.storage.storage import Storage
from engine.tables.scan import NO_FILES, Scan
from engine.types.schema import PrimitiveType, StructField, StructType


@contextmanager
def materialized_rows(storage: Storage, scan: Scan, source: ReadPlan, context: ExecutionContext) -> Iterator[Scan]:
    """Yields `scan` (`engine.planning.semantics.query_columns`) with files that contain the rows of `source`, below the
    table's directory.
    """
    storage.ensure_writable()
    names = Names([source.text]).several("given", len(scan.schema.fields))
    columns = materialized_columns(scan)
    fields = [
        (name, field.name)
        for name, field in zip(names, scan.schema.fields, strict=True)
        if field.data_type is not PrimitiveType.VOID
    ]
    given = [name for name, _ in fields]
    # Parquet has no type for VOID columns, and a file needs at least one column for its row
    # count.
    if not given:
        columns = StructType((StructField("c", PrimitiveType.BOOLEAN),))
        given = ["true"]
    text = f"SELECT {', '.join(given)} FROM ({source.text}\n) AS given({', '.join(names)})"
    row_writing = RowWriting(
        token="",
        label=scan.label,
        columns=columns.to_json(),
        by_name=False,
        fields=FieldMatching.POSITION,
        steps=(),
        stored=columns.to_json(),
        partition_columns=(),
        joins_tasks=True,
        # The names in the lineage of the queries that read the rows.
        names=tuple(name for _, name in fields),
    )
    name = f"rows kept for {context.request.statement_id}: {scan.relation}"
    target = WriteTarget(folder=storage.root, rules=row_writing, keeps=name)
    written = context.executor.write_files(replace(source, text=text), target, context.request, context.parameters)
    try:
        yield replace(scan, files=_files(written), name=name)
    finally:
        discard(storage, (file.path for file in written))


def count_materialized(storage: Storage, scan: Scan) -> int:
    """Returns how many rows a scan from :func:`materialized_rows` has, by its file footers."""
    return sum(_num_rows(storage, path) for path in scan.files["path"].to_pylist())


def materialized_column(storage: Storage, scan: Scan, name: str) -> pa.ChunkedArray:
    """Returns a column of these rows, by its name in the files."""
    parts: list[pa.Array] = []
    for path in scan.files["path"].to_pylist():
        with storage.open_input(path) as file:
            parts += pq.read_table(file, columns=[name]).column(0).chunks
    return pa.chunked_array(parts) if parts else pa.chunked_array([], pa.null())


def _num_rows(storage: Storage, path: str) -> int:
    with storage.open_input(path) as file:
        return int(pq.read_metadata(file).num_rows)


def _files(written: Sequence[WrittenFile]) -> pa.Table:
    files: list[tuple[Any, ...]] = [(file.path, file.size, file.modification_time, []) for file in written]
    return pa.Table.from_pylist(
        [dict(zip(NO_FILES.column_names, file, strict=True)) for file in files], schema=NO_FILES.schema
    )
