"""Truncated log files: a truncated commit is rejected with an error that names it; optional files are ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from catalog.conditions import MalformedLogEntry
from engine.delta.commit.transaction import Transaction
from engine.delta.log.commit_reader import parse_commit_info
from engine.delta.maintenance.after_commit import PostCommit, run_hooks
from engine.delta.snapshot.checksum import load_checksum
from engine.delta.snapshot.history import load_history
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, CheckpointMetadata, CommitInfo, SetTransaction
from engine.delta.spec.paths import (
    LAST_CHECKPOINT,
    LOG_DIR,
    checkpoint_name,
    checkpoint_v2_name,
    checksum_name,
    commit_name,
    compaction_name,
)
from tests.engine.delta.committing import describe
from tests.engine.delta.log_builder import METADATA, PROTOCOL, LogBuilder, add, json_lines, parquet_bytes, remove

UUID = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"

CUTS: Mapping[str, Callable[[bytes], bytes]] = {
    "to nothing": lambda data: b"",
    "to blanks": lambda data: b" \t\n",
    "to one newline": lambda data: b"\n",
    "to a byte order mark": lambda data: b"\xef\xbb\xbf",
    "to zeros": lambda data: bytes(len(data)),
    "in the first line": lambda data: data[: data.index(b"\n") // 2],
    "in the last line": lambda data: data[:-10],
    "by its end": lambda data: data[:-2],
}


def _log() -> LogBuilder:
    log = LogBuilder()
    log.create(CommitInfo(operation="CREATE TABLE"), add("a"))
    log.commit(CommitInfo(operation="WRITE"), add("b"), remove("a"))
    log.commit(CommitInfo(operation="WRITE"), add("c"))
    return log


def _append(snapshot: Snapshot, path: str) -> Transaction:
    transaction = Transaction.on(snapshot, describe())
    transaction.stage(add(path))
    return transaction


def _cut(log: LogBuilder, name: str, cut: Callable[[bytes], bytes]) -> None:
    log.put(name, cut(log.storage.files[f"{LOG_DIR}/{name}"][0]))


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("case", CUTS)
def test_a_commit_that_was_cut_off_is_refused_by_name(case: str, version: int) -> None:
    log = _log()
    before = Snapshot.load(log.storage, version - 1) if version else None
    whole = Snapshot.load(log.storage)
    _cut(log, commit_name(version), CUTS[case])
    loads: list[Callable[[], object]] = [lambda: Snapshot.load(log.storage)]
    if before is not None:
        loads += [before.advance, lambda: _append(before, "d").commit()]
    name = f"{LOG_DIR}/{commit_name(version)}"
    loads += [lambda: load_history(whole), lambda: parse_commit_info(log.storage.read_bytes(name), name)]
    for load in loads:
        with pytest.raises(MalformedLogEntry, match=commit_name(version)):
            load()
    assert f"{LOG_DIR}/{commit_name(3)}" not in log.storage.files
    if before is not None:
        assert Snapshot.load(log.storage, version - 1).version == version - 1


@pytest.mark.parametrize(
    "data", [b'{"commitInfo":{"operation":"OPTIMIZE"}}\n', b'{"commitInfo":{}}', b'{"future":{"x":1}}\n']
)
def test_a_commit_may_say_nothing_of_the_table(data: bytes) -> None:
    log = _log()
    log.put(commit_name(3), data)
    assert Snapshot.load(log.storage).files["path"].to_pylist() == ["b", "c"]


STAND_INS: Mapping[str, Callable[[], bytes]] = {
    compaction_name(0, 2): lambda: json_lines([PROTOCOL, METADATA, add("b"), add("c"), remove("a")]),
    checkpoint_name(2): lambda: parquet_bytes([PROTOCOL, METADATA, add("b"), add("c"), remove("a")]),
    checkpoint_v2_name(2, UUID, "json"): lambda: json_lines(
        [CheckpointMetadata(version=2), PROTOCOL, METADATA, add("b"), add("c"), remove("a")]
    ),
    "_sidecars/s.parquet": lambda: parquet_bytes([add("b"), add("c"), remove("a")]),
}


@pytest.mark.parametrize("name", STAND_INS)
@pytest.mark.parametrize("case", CUTS)
def test_compacted_logs_are_optional(case: str, name: str) -> None:
    log = _log()
    if name.startswith("_sidecars"):
        sidecar = log.sidecar("s.parquet", [add("b"), add("c"), remove("a")])
        top: list[Action] = [CheckpointMetadata(version=2), PROTOCOL, METADATA, sidecar]
        log.put(checkpoint_v2_name(2, UUID, "parquet"), parquet_bytes(top))
    else:
        log.put(name, STAND_INS[name]())
    try:
        _cut(log, name, CUTS[case])
    except ValueError:  # Parquet that has no line to cut
        _cut(log, name, lambda data: data[: len(data) // 2])
    assert sorted(Snapshot.load(log.storage).files["path"].to_pylist()) == ["b", "c"]
    log.drop(commit_name(0))
    with pytest.raises(MalformedLogEntry):
        assert Snapshot.load(log.storage).files


@pytest.mark.parametrize("case", CUTS)
def test_hints_and_checksums_are_done_without(case: str) -> None:
    log = _log()
    cut = CUTS[case](b'{"version":2,\n"size":5}')
    log.put(LAST_CHECKPOINT, cut)
    log.put(checksum_name(2), cut)
    snapshot = Snapshot.load(log.storage)
    assert snapshot.num_files == 2
    with pytest.raises(MalformedLogEntry, match=checksum_name(2)):
        load_checksum(log.storage, 2)
    committed = _append(snapshot, "d").commit()
    run_hooks(PostCommit(committed))
    assert load_checksum(log.storage, 3) is not None


def test_a_transaction_alone_is_a_version() -> None:
    log = _log()
    log.commit(SetTransaction(app_id="x", version=7))
    assert Snapshot.load(log.storage).set_transactions["x"].version == 7
