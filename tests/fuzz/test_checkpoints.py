"""Whatever a checkpoint's bytes are, reading gives valid columns, or `MalformedLogEntry` with the file's name."""

from __future__ import annotations

from hypothesis import given, settings

from catalog.conditions import LogFileNotFound, MalformedLogEntry
from engine.delta.checkpoint.checkpoint_reader import CheckpointReader
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.log.log_segment import Checkpoint
from engine.delta.spec.paths import LOG_DIR, checkpoint_name, parse_log_path
from tests.engine.delta.log_builder import METADATA, PROTOCOL, add, parquet_bytes, remove
from tests.fuzz.mutations import anything
from tests.fuzz.seeds import foreign
from tests.interleave.storages import DictStorage

SEEDS = [
    parquet_bytes([PROTOCOL, METADATA, add("a", stats="{}"), add("b%20c"), remove("d")]),
    *foreign("_delta_log/*.checkpoint*.parquet", bytes_max=40_000),
]
NAME = checkpoint_name(3)
PATH = parse_log_path(NAME)


@settings(max_examples=300, deadline=None)
@given(anything(SEEDS))
def test_a_value_or_one_named_error(data: bytes) -> None:
    assert PATH is not None
    storage = DictStorage()
    storage.write(f"{LOG_DIR}/{NAME}", data)
    reader = CheckpointReader(storage, Checkpoint(3, (PATH,)))
    try:
        reader.read_small_actions()
        for batch in reader.read_adds():
            assert batch.schema == FILES_SCHEMA
            batch.validate(full=True)
        for batch in reader.read_removes():
            assert batch.schema == TOMBSTONES_SCHEMA
            batch.validate(full=True)
    except MalformedLogEntry as error:
        assert NAME in str(error)
    except LogFileNotFound as error:
        assert "_sidecars" in str(error)
