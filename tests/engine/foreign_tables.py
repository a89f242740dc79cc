"""Tables as other writers leave them: files by pyarrow, the log by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def column(name: str, kind: Any = "integer", nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    """Returns a column for a log's schema; `__` in a metadata key stands for a dot."""
    keys = {key.replace("__", "."): value for key, value in metadata.items()}
    return {"name": name, "type": kind, "nullable": nullable, "metadata": keys}


def write_table(
    folder: Path,
    columns: Sequence[Mapping[str, Any]],
    rows: pa.Table,
    *,
    protocol: Mapping[str, Any] | None = None,
    configuration: Mapping[str, str] | None = None,
    partition: Mapping[str, str] | None = None,
    name: str | None = None,
) -> None:
    """Writes version 0 with one file; `partition` holds the values for columns that the file lacks."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    pq.write_table(rows, folder / "part-0.parquet")
    metadata = {
        "id": folder.name,
        **({} if name is None else {"name": name}),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": list(columns)}),
        "partitionColumns": list(partition or {}),
        "configuration": dict(configuration or {}),
    }
    add = {
        "path": "part-0.parquet",
        "partitionValues": dict(partition or {}),
        "size": (folder / "part-0.parquet").stat().st_size,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
    }
    actions = {"protocol": protocol or {"minReaderVersion": 1, "minWriterVersion": 2}, "metaData": metadata, "add": add}
    (log / f"{0:020}.json").write_text("".join(json.dumps({key: item}) + "\n" for key, item in actions.items()))
