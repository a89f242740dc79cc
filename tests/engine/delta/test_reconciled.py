"""Checkpoints and log compactions that say a thing twice are not believed: the commits count, or nothing does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import MalformedLogEntry
from engine.delta.checkpoint.unique_keys import UniqueKeys, hash_texts
from engine.delta.log.commit_reader import make_adds
from engine.delta.log.file_table import file_keys
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import (
    Action,
    CheckpointMetadata,
    DeletionVectorDescriptor,
    DomainMetadata,
    SetTransaction,
)
from engine.delta.spec.paths import checkpoint_v2_name, commit_name, compaction_name
from tests.engine.delta.log_builder import METADATA, PROTOCOL, LogBuilder, add, json_lines, parquet_bytes, remove

UUID = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"


def vector(name: str) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv=name.rjust(20, "0"), offset=1, size_in_bytes=4, cardinality=1
    )


TWICE: dict[str, Sequence[Action]] = {
    "an add": [add("a", size=1), add("a", size=2)],
    "an add, spelled differently": [add("c%20d"), add("c d")],
    "an add with its vector": [add("a", deletion_vector=vector("1")), add("a", deletion_vector=vector("1"), size=3)],
    "a remove": [remove("a"), remove("a", deletion_timestamp=6)],
    "an add and a remove": [add("a"), remove("a")],
    "a remove and an add with their vector": [
        remove("a", deletion_vector=vector("1")),
        add("a", deletion_vector=vector("1")),
    ],
    "protocol": [replace(PROTOCOL, min_writer_version=3)],
    "the same protocol": [PROTOCOL],
    "metadata": [replace(METADATA, name="other")],
    "a transaction": [SetTransaction(app_id="x", version=1), SetTransaction(app_id="x", version=2)],
    "a domain": [DomainMetadata(domain="d", configuration="1"), DomainMetadata(domain="d", configuration="2")],
}
ONCE: Sequence[Action] = [
    add("a", deletion_vector=vector("1")),
    remove("a"),
    remove("a", deletion_vector=vector("2")),
    add("b"),
    remove("B"),
    SetTransaction(app_id="x", version=1),
    SetTransaction(app_id="y", version=1),
    DomainMetadata(domain="d", configuration="1"),
    DomainMetadata(domain="e", configuration="1"),
]


def _compaction(log: LogBuilder, actions: Sequence[Action]) -> None:
    log.compaction(0, 2, [PROTOCOL, METADATA, *actions])


def _classic(log: LogBuilder, actions: Sequence[Action]) -> None:
    log.checkpoint(2, [PROTOCOL, METADATA, *actions])


def _parts(log: LogBuilder, actions: Sequence[Action]) -> None:
    log.multi_part_checkpoint(2, [PROTOCOL, METADATA, *actions], 3)


def _v2(log: LogBuilder, actions: Sequence[Action]) -> None:
    top = [CheckpointMetadata(version=2), PROTOCOL, METADATA, *actions]
    log.put(checkpoint_v2_name(2, UUID, "json"), json_lines(top))


def _sidecars(log: LogBuilder, actions: Sequence[Action]) -> None:
    """One sidecar for each file action, so that it is the sidecars that overlap."""
    files = [action for action in actions if action.WIRE_NAME in ("add", "remove")]
    sidecars = [log.sidecar(f"{at}.parquet", [action]) for at, action in enumerate(files)]
    others = [action for action in actions if action not in files]
    top = [CheckpointMetadata(version=2), PROTOCOL, METADATA, *others, *sidecars]
    log.put(checkpoint_v2_name(2, UUID, "parquet"), parquet_bytes(top))


FORMS: dict[str, Callable[[LogBuilder, Sequence[Action]], None]] = {
    "compaction": _compaction,
    "classic": _classic,
    "parts": _parts,
    "v2": _v2,
    "sidecars": _sidecars,
}


def _log() -> LogBuilder:
    log = LogBuilder()
    log.create(add("x"))
    log.commit(add("y"))
    log.commit(remove("x"))
    return log


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", TWICE)
def test_checkpoint_with_duplicates_is_not_trusted(case: str, form: str) -> None:
    log = _log()
    FORMS[form](log, TWICE[case])
    snapshot = Snapshot.load(log.storage)
    assert snapshot.files["path"].to_pylist() == ["y"]
    assert snapshot.tombstones["path"].to_pylist() == ["x"]
    assert (snapshot.protocol, snapshot.metadata, snapshot.set_transactions) == (PROTOCOL, METADATA, {})
    log.drop(commit_name(0), commit_name(1))
    with pytest.raises(MalformedLogEntry, match="not reconciled"):
        assert Snapshot.load(log.storage).files


@pytest.mark.parametrize("form", FORMS)
def test_checkpoint_without_duplicates_is_trusted(form: str) -> None:
    log = _log()
    FORMS[form](log, ONCE)
    for cleaned in (False, True):
        if cleaned and form != "compaction":
            log.drop(*map(commit_name, range(3)))
        snapshot = Snapshot.load(log.storage)
        assert sorted(snapshot.files["path"].to_pylist()) == ["a", "b"]
        assert sorted(snapshot.tombstones["path"].to_pylist()) == ["B", "a", "a"]
        assert set(snapshot.set_transactions) == {"x", "y"} and set(snapshot.domain_metadata) == {"d", "e"}


def test_a_compaction_of_unreconciled_history_brings_no_deleted_file_back() -> None:
    log = LogBuilder()
    log.create()
    log.commit(add("a"))
    log.commit(remove("a"))
    log.compaction(1, 2, [remove("a"), add("a")])
    assert Snapshot.load(log.storage).num_files == 0


def test_two_compactions_may_mention_the_same_file() -> None:
    log = LogBuilder()
    log.create(add("a"))
    log.commit(SetTransaction(app_id="x", version=1))
    log.commit(remove("a"))
    log.commit(SetTransaction(app_id="x", version=2), METADATA)
    log.compaction(0, 1, [PROTOCOL, METADATA, add("a"), SetTransaction(app_id="x", version=1)])
    log.compaction(2, 3, [remove("a"), SetTransaction(app_id="x", version=2), METADATA])
    log.drop(*map(commit_name, range(3)))
    snapshot = Snapshot.load(log.storage)
    assert (snapshot.num_files, snapshot.set_transactions["x"].version) == (0, 2)


def test_compaction_names_are_avoided_one_by_one() -> None:
    log = _log()
    log.compaction(0, 1, [PROTOCOL, METADATA, add("x"), add("x"), add("y")])
    log.compaction(1, 2, [remove("x"), remove("x"), add("y")])
    assert Snapshot.load(log.storage).files["path"].to_pylist() == ["y"]
    assert compaction_name(0, 1) in {name.rpartition("/")[2] for name in log.storage.files}


# --- Keys -------------------------------------------------------------------------------------------------------------

TAILS = st.sampled_from(["", "x", "12345678", "part-0-c000.snappy.parquet" * 2])
PATHS = st.builds(lambda head, tail: head + tail, st.sampled_from(["a", "b", "a/" * 30, "b/" * 30]), TAILS)
KEYS = st.tuples(PATHS, st.sampled_from([None, vector("1"), vector("2"), replace(vector("1"), offset=None)]))


@given(st.lists(KEYS, max_size=12), st.integers(1, 4))
def test_repeated_keys_are_found(keys: list[tuple[str, DeletionVectorDescriptor | None]], size: int) -> None:
    """Also among paths that differ only in characters that the hash ignores."""
    unique = UniqueKeys()
    names = []
    for first in range(0, len(keys), size):
        batch = make_adds([add(path, deletion_vector=found) for path, found in keys[first : first + size]])
        unique.add(batch)
        names += file_keys(batch).to_pylist()
    repeated = unique.find_duplicate()
    twice = {name.partition("\0")[0] for name in names if names.count(name) > 1}
    assert (repeated in twice) if twice else repeated is None


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8), st.data())
def test_hashes_depend_on_the_text_alone(texts: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(texts) - 1))
    whole = hash_texts(pa.array(texts))
    assert hash_texts(pa.array(texts).slice(start)).tolist() == whole[start:].tolist()
    assert [int(hash_texts(pa.array([text]))[0]) for text in texts] == whole.tolist()
