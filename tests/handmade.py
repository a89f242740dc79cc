"""Hand-made tables: data files from Arrow, and a log with explicit JSON actions, as others may write it.

No product code takes part, so that it cannot be wrong in the same way as the reader.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

LEGACY = {"minReaderVersion": 1, "minWriterVersion": 2}


def column(name: str, data_type: Any, **metadata: Any) -> dict[str, Any]:
    """Returns a schema field; metadata keys have underscores for dots (`delta_columnMapping_id`)."""
    keys = {key.replace("_", "."): value for key, value in metadata.items()}
    return {"name": name, "type": data_type, "nullable": True, "metadata": keys}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def mapped(name: str, data_type: Any, number: int, physical: str) -> dict[str, Any]:
    """Returns a field with a physical name and an id."""
    return column(name, data_type, delta_columnMapping_id=number, delta_columnMapping_physicalName=physical)


def protocol(*reader: str, writer: Sequence[str] = ()) -> dict[str, Any]:
    """Returns a protocol with these reader features (also writer features) and writer features."""
    if not reader:
        return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(writer)}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": list(reader),
        "writerFeatures": [*reader, *writer],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A data file: `log_path` is its path text in the log (None: its encoded name), `keys` are more keys for the
    action.
    """

    name: str
    rows: pa.Table
    values: Mapping[str, str | None] = field(default_factory=dict)
    log_path: str | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    # Options for the Parquet writer.
    options: Mapping[str, Any] = field(default_factory=dict)


def write_table(
    root: Path,
    columns: Sequence[Mapping[str, Any]],
    parts: Sequence[Part],
    *,
    partition_columns: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    table_protocol: Mapping[str, Any] = LEGACY,
) -> None:
    """Writes a table with one version."""
    log = root / "_delta_log"
    log.mkdir(parents=True)
    metadata = {
        "id": "7f1a0c52-0000-4000-8000-000000000002",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": columns}),
        "partitionColumns": list(partition_columns),
        "configuration": dict(configuration or {}),
    }
    actions: list[dict[str, Any]] = [{"protocol": table_protocol}, {"metaData": metadata}]
    actions += [{"add": _add(root, part)} for part in parts]
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")


def _add(root: Path, part: Part) -> dict[str, Any]:
    target = root / part.name
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(part.rows, target, **part.options)
    return {
        "path": quote(part.name) if part.log_path is None else part.log_path,
        "partitionValues": dict(part.values),
        "size": target.stat().st_size,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        **part.keys,
    }
