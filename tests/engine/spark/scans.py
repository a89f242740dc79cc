"""Small Parquet files and the scans that list them, by hand: no log is read here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.spark.session import ExecSession
from engine.tables.scan import Scan
from engine.types.schema import parse_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file to write: `path` as the log would say it (decoded), its columns, its partition values."""

    path: str
    columns: Mapping[str, Any]
    partition_values: Mapping[str, str | None] | None = None


def schema_json(columns: Mapping[str, Any]) -> str:
    """Returns a table's schema from names and Spark's type names (or a whole field)."""
    fields = []
    for name, data_type in columns.items():
        field = data_type if isinstance(data_type, dict) and "metadata" in data_type else {"type": data_type}
        fields.append({"name": name, "nullable": True, "metadata": {}, **field})
    return json.dumps({"type": "struct", "fields": fields})


def write_scan(
    root: Path,
    columns: Mapping[str, Any],
    files: Sequence[DataFile],
    *,
    partition_columns: Sequence[str] = (),
    relation: str = "__scan_0",
    label: str = "lake.sales",
) -> Scan:
    """Write `files` below `root` and list them."""
    rows = []
    for file in files:
        target = Path(file.path) if file.path.startswith("/") else root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(dict(file.columns)), target)
        rows.append((file.path, target.stat().st_size, 1_700_000_000_000, list((file.partition_values or {}).items())))
    return list_files(root, columns, rows, partition_columns=partition_columns, relation=relation, label=label)


def list_files(
    root: Path | str,
    columns: Mapping[str, Any],
    rows: Sequence[tuple[str, int, int, list[tuple[str, str | None]]]],
    *,
    partition_columns: Sequence[str] = (),
    relation: str = "__scan_0",
    label: str = "lake.sales",
) -> Scan:
    """Returns a scan over existing files: path, size, modification time, partition values."""
    paths, sizes, times, values = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Scan(
        relation=relation,
        label=label,
        table_root=str(root),
        schema=parse_schema(schema_json(columns)),
        partition_columns=tuple(partition_columns),
        files=pa.table(
            {
                "path": pa.array(paths, pa.string()),
                "size": pa.array(sizes, pa.int64()),
                "modification_time": pa.array(times, pa.int64()),
                "partition_values": pa.array(values, pa.map_(pa.string(), pa.string())),
            }
        ),
    )


def query(
    session: ExecSession,
    text: str,
    *scans: Scan,
    request: StatementRequest | None = None,
    parameters: Sequence[Parameter] = (),
) -> pa.Table:
    """Run `text` over `scans`."""
    request = request or StatementRequest(identity=Identity("alice"))
    result = session.run_query(ReadPlan(text=text, scans=scans), request, parameters)
    return pa.Table.from_batches(list(result.batches()), result.schema)


def rows(session: ExecSession, text: str, *scans: Scan, **options: Any) -> list[tuple[Any, ...]]:
    """Returns the rows from `text` as Python values."""
    table = query(session, text, *scans, **options)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
