"""The sample lake: served if a server has no configured directory, so that it has example tables.

    weather                                           a table in schema `default`
    shop/customers, products, order_items             plain tables
    shop/orders                                       partitioned by date
    shop/stock                                        five versions: two loads, an update, a delete, an overwrite

They are real Delta tables, committed by :mod:`engine.delta.commit.transaction` like any other, with the oldest protocol
that supports NOT NULL, so that every Delta reader can open them. The lake is written to a temporary directory and then
renamed: it exists completely or not at all, and an existing one is never changed.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.delta.commit.transaction import Transaction, clock_ms
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.actions import Add, Metadata, Protocol
from engine.sample.data import WAREHOUSES, SampleRows, SampleTable, make_sample_rows
from engine.storage.storage import Storage, open_storage
from engine.tables.operations import CommitDescription, TableOperation

_PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)


def ensure_sample_lake(folder: str, progress: Callable[[str], None] = lambda step: None) -> None:
    """Writes the sample lake to `folder`, a local path, unless it exists. Takes a second or two."""
    folder = os.path.abspath(folder)
    if os.path.exists(folder):
        return
    progress(f"writing a sample lake to {folder}")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    beside = f"{folder}.{uuid.uuid4().hex}.tmp"
    try:
        _write_lake(beside, make_sample_rows())
        os.rename(beside, folder)
    except OSError:
        if not os.path.exists(folder):  # otherwise another server wrote it first
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write_lake(folder: str, rows: SampleRows) -> None:
    for table in rows.tables:
        _TableWriter(folder, table).create(table.rows)
    _write_stock(_TableWriter(folder, rows.stock), rows)


def _write_stock(writer: _TableWriter, rows: SampleRows) -> None:
    """Writes a history for time travel; each file contains one warehouse."""
    gdansk, porto, rotterdam = (_of_warehouse(rows.stock.rows, name) for name in WAREHOUSES)
    in_gdansk, in_rotterdam = writer.create(gdansk, rotterdam)
    (in_porto,) = writer.commit("WRITE", TableOperation.APPEND, {"mode": "Append"}, [porto])
    more = pc.cast(pc.add(rotterdam["quantity"], 50), pa.int32())
    delivered = rotterdam.set_column(2, rotterdam.schema.field(2), more)
    predicate = {"predicate": "(warehouse = 'Rotterdam')"}
    (in_rotterdam,) = writer.commit("UPDATE", TableOperation.DML, predicate, [delivered], [in_rotterdam])
    left = [part.filter(pc.greater(part["quantity"], 0)) for part in (gdansk, porto)]
    now_in = writer.commit("DELETE", TableOperation.DML, {"predicate": "(quantity = 0)"}, left, [in_gdansk, in_porto])
    recount = [_of_warehouse(rows.stock_recount, name) for name in WAREHOUSES]
    writer.commit("WRITE", TableOperation.DML, {"mode": "Overwrite"}, recount, [in_rotterdam, *now_in])


def _of_warehouse(rows: Any, name: str) -> Any:
    return rows.filter(pc.equal(rows["warehouse"], name))


class _TableWriter:
    """A writer for one table in the lake."""

    def __init__(self, folder: str, table: SampleTable) -> None:
        self._storage: Storage = open_storage(f"{folder}/{table.path}")
        self._table = table

    def create(self, *parts: Any) -> list[str]:
        """Commits version 0, with the rows from `parts`: one file each, or one file for each partition value.

        Returns the files' paths, as `commit` does.
        """
        columns = [self._table.partition_column] if self._table.partition_column else []
        description = CommitDescription(
            name="CREATE TABLE AS SELECT",
            operation=TableOperation.APPEND,
            parameters={
                "isManaged": "false",
                "description": self._table.description,
                "partitionBy": json.dumps(columns),
                "properties": "{}",
            },
        )
        transaction = Transaction.create(self._storage, description)
        metadata = Metadata(
            id=str(uuid.uuid4()),
            description=self._table.description,
            schema_string=self._table.schema.to_json(),
            partition_columns=tuple(columns),
            created_time=clock_ms(),
        )
        transaction.stage(_PROTOCOL, metadata)
        return self._commit(transaction, parts)

    def commit(
        self,
        name: str,
        operation: TableOperation,
        parameters: Mapping[str, str],
        parts: list[Any],
        removed: Sequence[str] = (),
    ) -> list[str]:
        """Commits the next version: replaces the files `removed` with `parts`."""
        snapshot = load_snapshot(self._storage.root)
        transaction = Transaction.on(snapshot, CommitDescription(name=name, operation=operation, parameters=parameters))
        if removed:
            files = transaction.read_whole_table()
            transaction.stage_removes(files.filter(pc.is_in(files["path"], pa.array(removed))))
        return self._commit(transaction, parts)

    def _commit(self, transaction: Transaction, parts: Iterable[Any]) -> list[str]:
        adds = [add for part in parts for add in self._write(part)]
        transaction.stage(*adds)
        transaction.commit()
        return [add.path for add in adds]

    def _write(self, rows: Any) -> list[Add]:
        column = self._table.partition_column
        if column is None:
            return [self._write_file(rows, "", {})]
        starts = [*_starts_of_runs(rows[column]), rows.num_rows]  # the rows are sorted by it
        return [
            self._write_partition(rows.slice(start, end - start), column)
            for start, end in zip(starts, starts[1:], strict=False)
        ]

    def _write_partition(self, rows: Any, column: str) -> Add:
        value = rows[column][0].as_py().isoformat()
        return self._write_file(rows.drop_columns([column]), f"{column}={value}/", {column: value})

    def _write_file(self, rows: Any, prefix: str, partition_values: Mapping[str, str]) -> Add:
        path = f"{prefix}part-00000-{uuid.uuid4()}.c000.snappy.parquet"
        with self._storage.open_output(path) as file:
            pq.write_table(rows, file, compression="snappy")
            size = file.tell()
        return Add(
            path=path,
            partition_values=partition_values,
            size=size,
            modification_time=clock_ms(),
            stats=_stats(rows),
        )


def _starts_of_runs(column: Any) -> list[int]:
    values = column.combine_chunks()
    changes = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    return [0, *(index + 1 for index in pc.indices_nonzero(changes).to_pylist())]


def _stats(rows: Any) -> str:
    """Returns a file's statistics; Delta has no bounds for booleans."""
    bounds = {
        name: pc.min_max(rows[name])
        for name in rows.column_names
        if not pa.types.is_boolean(rows.schema.field(name).type) and rows[name].null_count < rows.num_rows
    }
    return json.dumps(
        {
            "numRecords": rows.num_rows,
            "minValues": {name: _stat(bound["min"].as_py()) for name, bound in bounds.items()},
            "maxValues": {name: _stat(bound["max"].as_py()) for name, bound in bounds.items()},
            "nullCount": {name: rows[name].null_count for name in rows.column_names},
        },
        separators=(",", ":"),
    )


def _stat(value: Any) -> Any:
    """Returns a value in the form for statistics; the instants are whole seconds, so truncation to milliseconds loses
    nothing.
    """
    match value:
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case _:  # any other JSON value
            return value
