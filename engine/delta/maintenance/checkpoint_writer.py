"""Writes checkpoints: a version's state as Parquet, column by column.

The form is determined by the table's policy or by the caller:

- *classic*: one file.
- *parts*: several files, each with the actions for a range of paths. Two writers that checkpoint the same version make
  equal parts, so their files may replace each other. For old readers; never with the v2Checkpoint feature.
- *v2*: a top level, Parquet or JSON, with all actions except file actions, which are in sidecars.

A checkpoint contains the result of log replay: no commitInfo, no `cdc`, and no expired tombstones or removed domains.
File actions are written without data change, since they change nothing. The table's properties select statistics as
JSON, as typed columns (`stats_parsed`), or both. Typed columns include typed partition values, unless a value is
ambiguous (a timestamp without its zone): they are omitted rather than wrong.

The small actions are in the first row group, so that reading schema and protocol requires nothing else. Files are
written batch by batch: besides the snapshot, only one batch is in memory. Every file appears atomically, and
`_last_checkpoint` after all of them; it never moves back to an older version.

Protocol: "Checkpoints", "V2 Spec", "Sidecar Files", "Last Checkpoint File".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.delta.definition.table_config import DeltaConfig
from engine.delta.maintenance.checkpoint_content import (
    BATCH_ROWS,
    SMALL_COLUMNS,
    V2_COLUMNS,
    CheckpointContent,
    extend_batch,
    small_rows,
)
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, CheckpointMetadata, Sidecar, format_actions
from engine.delta.spec.last_checkpoint import LastCheckpoint, parse_last_checkpoint
from engine.delta.spec.paths import (
    LAST_CHECKPOINT,
    LOG_DIR,
    SIDECAR_DIR,
    checkpoint_name,
    checkpoint_part_name,
    checkpoint_v2_name,
    sidecar_name,
)
from engine.delta.spec.properties import CHECKPOINT_PART_SIZE, CHECKPOINT_POLICY
from engine.storage.storage import Storage
from engine.tables.operations import TableOperation
from engine.types.arrow_types import RecordBatch, table_schema

# Maximum number of file actions per sidecar.
SIDECAR_ACTIONS = 50_000

_COMPRESSION = "zstd"
# Columns without repeated values, for which a dictionary is useless.
_PLAIN_COLUMNS = frozenset({"path", "stats"})
# Longest schema in `_last_checkpoint`, as in delta-spark: the file is read whenever a table is opened.
_SCHEMA_CHARACTERS_MAX = 20_000


class CheckpointForm(Enum):
    CLASSIC = "classic"
    PARTS = "parts"
    V2_PARQUET = "v2, Parquet"
    V2_JSON = "v2, JSON"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCheckpoint:
    """The log files that form a checkpoint."""

    # Relative to the table root, without sidecars.
    names: tuple[str, ...]
    hint: LastCheckpoint


def write_checkpoint(
    snapshot: Snapshot,
    now_ms: int,
    *,
    form: CheckpointForm | None = None,
    actions_per_file: int | None = None,
) -> WrittenCheckpoint:
    """Writes a checkpoint of `snapshot` and updates `_last_checkpoint`.

    `form` None follows `delta.checkpointPolicy`, and for classic checkpoints `delta.checkpoint.partSize`.
    `actions_per_file` limits parts and sidecars; None: that property, or 50,000. Raises the errors of
    `DeltaConfig.ensure_supported` and of reading the snapshot's files, `OSError`.
    """
    # A writer that does not know a feature must not checkpoint: it would leave out the
    # feature's actions or fields, and the commits that have them may be cleaned up
    # afterwards.
    snapshot.config.ensure_supported(TableOperation.CHECKPOINT)
    content = CheckpointContent(snapshot, now_ms)
    config = snapshot.config
    actions = actions_per_file or config.get(CHECKPOINT_PART_SIZE)
    written = _WRITERS[form or _form_of(config, content.num_file_actions)](snapshot, content, actions)
    write_hint(snapshot.storage, written.hint)
    return written


def write_hint(storage: Storage, hint: LastCheckpoint) -> bool:
    """Points `_last_checkpoint` to a checkpoint, unless it points to a newer one. Returns True if it was updated."""
    name = f"{LOG_DIR}/{LAST_CHECKPOINT}"
    try:
        present = parse_last_checkpoint(storage.read_bytes(name))
    except OSError:
        present = None
    # Two writers checkpoint in any order. A hint that moved back would make readers list
    # and replay more, though they would still be right.
    if present is not None and present.version > hint.version:
        return False
    storage.write(name, json.dumps(hint.to_json(), separators=(",", ":")).encode())
    return True


def _form_of(config: DeltaConfig, num_file_actions: int) -> CheckpointForm:
    """Selects the form. Parts are opt-in, and forbidden to writers if the protocol has v2 checkpoints."""
    # "V2 Checkpoint Table Feature": writers must not create multi-part checkpoints then; a
    # classic name remains allowed.
    if config.is_supported("v2Checkpoint"):
        return CheckpointForm.V2_PARQUET if config.get(CHECKPOINT_POLICY) == "v2" else CheckpointForm.CLASSIC
    part_size = config.get(CHECKPOINT_PART_SIZE)
    return CheckpointForm.PARTS if part_size and num_file_actions > part_size else CheckpointForm.CLASSIC


def _write_classic(snapshot: Snapshot, content: CheckpointContent, _: int | None) -> WrittenCheckpoint:
    name = f"{LOG_DIR}/{checkpoint_name(snapshot.version)}"
    schema = _classic_schema(content)
    batches = (extend_batch(batch, schema) for batch in content.file_batches())
    size_bytes = _write_parquet(snapshot.storage, name, schema, (small_rows(content.actions, schema), batches))
    return WrittenCheckpoint(names=(name,), hint=_hint(snapshot, content, size_bytes, _checkpoint_schema(schema)))


def _write_parts(snapshot: Snapshot, content: CheckpointContent, actions: int | None) -> WrittenCheckpoint:
    # The number of parts is in each part's name. It must follow from the version's content,
    # so that two writers agree on it.
    count = max(1, -(-content.num_file_actions // (actions or SIDECAR_ACTIONS)))
    schema = _classic_schema(content)
    names, size_bytes = [], 0
    for part, batches in enumerate(_ranges_of_paths(content, count), start=1):
        name = f"{LOG_DIR}/{checkpoint_part_name(snapshot.version, part, count)}"
        # Readers need protocol and metadata first, and delta-spark writes them into the
        # first part as well.
        small = small_rows(content.actions if part == 1 else (), schema)
        rows = (extend_batch(batch, schema) for batch in batches)
        size_bytes += _write_parquet(snapshot.storage, name, schema, (small, rows))
        names.append(name)
    return WrittenCheckpoint(
        names=tuple(names), hint=_hint(snapshot, content, size_bytes, _checkpoint_schema(schema), parts=count)
    )


def _write_v2_parquet(snapshot: Snapshot, content: CheckpointContent, actions: int | None) -> WrittenCheckpoint:
    # The file columns are empty here, but delta-spark expects them in the schema.
    schema = pa.schema([*V2_COLUMNS.items(), *_classic_schema(content)])

    def write(name: str, top: tuple[Action, ...]) -> int:
        return _write_parquet(snapshot.storage, name, schema, (small_rows(top, schema), ()))

    return _write_v2(snapshot, content, actions, "parquet", write, schema)


def _write_v2_json(snapshot: Snapshot, content: CheckpointContent, actions: int | None) -> WrittenCheckpoint:
    def write(name: str, top: tuple[Action, ...]) -> int:
        data = format_actions(top)
        snapshot.storage.write(name, data)
        return len(data)

    return _write_v2(snapshot, content, actions, "json", write, None)


def _write_v2(
    snapshot: Snapshot,
    content: CheckpointContent,
    actions: int | None,
    extension: str,
    write: Callable[[str, tuple[Action, ...]], int],
    schema: Any,
) -> WrittenCheckpoint:
    """Writes the sidecars first: the top level must never refer to missing files."""
    sidecars = tuple(_write_sidecars(snapshot.storage, content, actions or SIDECAR_ACTIONS))
    top = (CheckpointMetadata(version=snapshot.version), *content.actions, *sidecars)
    file = checkpoint_v2_name(snapshot.version, str(uuid.uuid4()), extension)
    # The UUID makes concurrent v2 checkpoints separate files: neither replaces the other's
    # top level, which names its own sidecars.
    name = f"{LOG_DIR}/{file}"
    size_bytes = write(name, top)
    total = size_bytes + sum(sidecar.size_in_bytes for sidecar in sidecars)
    details = {
        "path": file,
        "sizeInBytes": size_bytes,
        # The protocol embeds the sidecar's file status, so that readers need no request for
        # it: the storage's time, not this machine's.
        "modificationTime": snapshot.storage.stat(name).modified_ms,
        "sidecarFiles": [sidecar.to_json() for sidecar in sidecars],
    }
    extra = {**(_checkpoint_schema(schema) if schema is not None else {}), "v2Checkpoint": details}
    hint = _hint(snapshot, content, total, extra, size=len(top) + content.num_file_actions)
    return WrittenCheckpoint(names=(name,), hint=hint)


_WRITERS: dict[CheckpointForm, Callable[[Snapshot, CheckpointContent, int | None], WrittenCheckpoint]] = {
    CheckpointForm.CLASSIC: _write_classic,
    CheckpointForm.PARTS: _write_parts,
    CheckpointForm.V2_PARQUET: _write_v2_parquet,
    CheckpointForm.V2_JSON: _write_v2_json,
}


def _write_sidecars(storage: Storage, content: CheckpointContent, actions: int) -> Iterator[Sidecar]:
    for batch in content.file_batches(actions):
        name = sidecar_name(str(uuid.uuid4()))
        path = f"{LOG_DIR}/{SIDECAR_DIR}/{name}"
        empty = batch.slice(0, 0)
        size_bytes = _write_parquet(storage, path, content.file_schema, (empty, (batch,)))
        yield Sidecar(path=name, size_in_bytes=size_bytes, modification_time=storage.stat(path).modified_ms)


def _ranges_of_paths(content: CheckpointContent, count: int) -> Iterator[Iterator[RecordBatch]]:
    """Yields the file actions in `count` path ranges with nearly equal sizes. Deterministic for the same files."""
    adds, removes = content.adds, content.removes
    chunks = [*adds.column("path").chunks, *removes.column("path").chunks]
    paths = pa.chunked_array(chunks, pa.string()).combine_chunks()
    ranks = np.empty(len(paths), np.int64)
    # Rank ranges, not hashes: equal sizes for all parts, whatever the names look like.
    ranks[pc.sort_indices(paths).to_numpy()] = np.arange(len(paths))
    # Equal paths (one file, two deletion vectors) get the last one's rank, so that they stay together.
    part_of = ranks * count // max(len(paths), 1)
    encoded = paths.dictionary_encode()
    last = np.zeros(len(encoded.dictionary), np.int64)
    np.maximum.at(last, encoded.indices.to_numpy(), part_of)
    part_of = last[encoded.indices.to_numpy()]
    for part in range(count):
        yield _rows_of_part(content, part_of == part)


def _rows_of_part(content: CheckpointContent, mask: npt.NDArray[np.bool_]) -> Iterator[RecordBatch]:
    rows = np.flatnonzero(mask[: content.adds.num_rows])
    for start in range(0, len(rows), BATCH_ROWS):
        part_rows = rows[start : start + BATCH_ROWS]
        yield content.add_batch(_take(content.adds, part_rows), part_rows)
    rows = np.flatnonzero(mask[content.adds.num_rows :])
    for start in range(0, len(rows), BATCH_ROWS):
        yield content.remove_batch(_take(content.removes, rows[start : start + BATCH_ROWS]))


def _take(table: Any, rows: npt.NDArray[np.int64]) -> RecordBatch:
    return pa.concat_batches(table.take(pa.array(rows)).to_batches())


def _classic_schema(content: CheckpointContent) -> Any:
    """Returns a column for each action kind that a single-file checkpoint may contain."""
    return pa.schema([*SMALL_COLUMNS.items(), *((field.name, field.type) for field in content.file_schema)])


def _write_parquet(storage: Storage, name: str, schema: Any, batches: tuple[RecordBatch, Iterable[RecordBatch]]) -> int:
    """Writes one row group per batch; the first may be empty. Returns the number of bytes written."""
    first, others = batches
    with storage.open_output(name) as file:
        with pq.ParquetWriter(
            file,
            schema,
            compression=_COMPRESSION,
            use_dictionary=_dictionary_columns(schema),
            # The Arrow schema in the footer would only be noise for other readers.
            store_schema=False,
        ) as writer:
            # A row group for the small actions alone lets a reader of the schema skip all
            # others by their null counts.
            if first.num_rows:
                writer.write_batch(first, row_group_size=first.num_rows)
            for batch in others:
                writer.write_batch(batch, row_group_size=batch.num_rows)
        return file.tell()


def _dictionary_columns(schema: Any) -> list[str]:
    """Returns the Parquet columns that get a dictionary."""
    return [
        path
        for field in schema
        for path in _leaves(field.name, field.type)
        if path.rsplit(".", 1)[-1] not in _PLAIN_COLUMNS
    ]


def _leaves(path: str, data_type: Any) -> Iterator[str]:
    if pa.types.is_struct(data_type):
        for field in data_type:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(data_type):
        yield from (f"{path}.key_value.key", f"{path}.key_value.value")
    elif pa.types.is_list(data_type):
        yield f"{path}.list.element"
    else:
        yield path


def _hint(
    snapshot: Snapshot,
    content: CheckpointContent,
    size_bytes: int,
    extra: dict[str, Any],
    *,
    parts: int | None = None,
    size: int | None = None,
) -> LastCheckpoint:
    return LastCheckpoint(
        version=snapshot.version,
        size=len(content.actions) + content.num_file_actions if size is None else size,
        parts=parts,
        size_in_bytes=size_bytes,
        num_of_add_files=content.adds.num_rows,
        extra=extra,
    )


@lru_cache(maxsize=32)  # the same for all of a table's checkpoints
def _checkpoint_schema(schema: Any) -> dict[str, Any]:
    """Returns `checkpointSchema`, the schema of a checkpoint's Parquet file, unless it is too long for the hint."""
    text = table_schema(schema).to_json()
    return {"checkpointSchema": json.loads(text)} if len(text) <= _SCHEMA_CHARACTERS_MAX else {}
