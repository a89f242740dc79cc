"""Hand-made snapshots through the manifest writer, without a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import StaticTable

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.manifests.manifest import SPEC_ID
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.writing.manifest_list_writer import NewSnapshot, write_manifest_list
from engine.iceberg.writing.new_files import entries_of
from engine.iceberg.writing.staged_manifests import ManifestsOnSnapshot, StagedManifests
from engine.iceberg.writing.written_table import WrittenTable
from engine.storage.storage import LocalStorage
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable


def loaded(table: HandmadeTable) -> IcebergSnapshot:
    return IcebergFormat(LocalStorage, 1 << 26).load(str(table.folder))


def entries(
    files: Sequence[Mapping[str, Any]], spec: int = 0, values: Mapping[str, pa.Array] | None = None
) -> pa.Table:
    """Returns a `HandmadeTable`'s files as entries for a commit; `values` are partition columns."""
    names = {name for file in files for name in file}
    found = entries_of({name: [file.get(name) for file in files] for name in names}, len(files))
    found = found.append_column(SPEC_ID, pa.array([spec] * len(files), pa.int32()))
    for name, column in (values or {}).items():
        found = found.append_column(name, column)
    return found


def staged(table: HandmadeTable, snapshot_id: int) -> StagedManifests:
    storage = LocalStorage(str(table.folder))
    return StagedManifests(storage, WrittenTable(table.metadata()), snapshot_id, loaded(table).entries_of)


def commit(table: HandmadeTable, manifests: StagedManifests, operation: str = "append") -> ManifestsOnSnapshot:
    """Returns the next snapshot, with these."""
    head = loaded(table)
    number = len(table.snapshots) + 1
    found = manifests.on(head.manifests)
    parent = table.snapshots[-1] if table.snapshots else None
    new = NewSnapshot(
        snapshot_id=manifests.snapshot_id,
        parent_id=None if parent is None else parent["snapshot-id"],
        sequence_number=number,
        next_row_id=table.extra.get("next-row-id", 0),
    )
    written = write_manifest_list(manifests.storage, manifests.table, found.manifests, new)
    snapshot = {
        "snapshot-id": new.snapshot_id,
        "sequence-number": number,
        "timestamp-ms": 1_700_000_000_000 + number * 60_000,
        "manifest-list": written.path,
        "summary": found.summary(operation, parent and parent["summary"]),
        "schema-id": table.schema_id,
    }
    if parent is not None:
        snapshot["parent-snapshot-id"] = parent["snapshot-id"]
    if written.first_row_id is not None and written.added_rows is not None:
        snapshot |= {"first-row-id": written.first_row_id, "added-rows": written.added_rows}
        table.extra["next-row-id"] = written.first_row_id + written.added_rows
    table.snapshots.append(snapshot)
    table.write()
    return found


def metadata_file(table: HandmadeTable) -> Path:
    return table.folder / f"metadata/v{table.metadata_version}.metadata.json"


def ids_by_all(table: HandmadeTable) -> list[list[int]]:
    """Returns the `id` column in each reader: ours, pyiceberg, DuckDB."""
    path, snapshot = metadata_file(table), loaded(table)
    gone = snapshot.row_files.deleted_rows(snapshot.files)
    ours = [
        np.delete(pq.read_table(f"{table.folder}/{name}")["id"].to_numpy(), rows).tolist()
        for name, rows in zip(snapshot.files["path"].to_pylist(), gone, strict=True)
    ]
    found = [
        [id for ids in ours for id in ids],
        StaticTable.from_metadata(str(path)).scan().to_arrow()["id"].to_pylist(),
        [id for (id,) in open_duckdb().execute(f"SELECT id FROM iceberg_scan('{path}')").fetchall()],
    ]
    return [sorted(each) for each in found]
