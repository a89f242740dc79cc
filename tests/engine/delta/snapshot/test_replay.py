"""Log replay equals the naive model for any history and any log layout."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import (
    Action,
    Add,
    CheckpointMetadata,
    DeletionVectorDescriptor,
    DomainMetadata,
    Metadata,
    Remove,
    SetTransaction,
)
from engine.delta.spec.paths import checkpoint_v2_name, commit_name
from tests.engine.delta.log_builder import (
    METADATA,
    PROTOCOL,
    LogBuilder,
    NaiveTable,
    add,
    json_lines,
    parquet_bytes,
    remove,
)
from tests.examples import examples

UUID = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"


def vector(name: str, offset: int | None = None) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv=name, offset=offset, size_in_bytes=4, cardinality=1
    )


PATHS = st.sampled_from(["a", "b", "c%20d", "c d", "day=1/x", "file:/abs/e", "/abs/e", "p%2525"])
VECTORS = st.sampled_from([None, vector("v1"), vector("v1", 1), vector("v2")])
VALUES = st.sampled_from([{"day": "1"}, {"day": None}, {"day": "2"}, {}])


@st.composite
def file_actions(draw: st.DrawFn) -> list[Action]:
    """One commit's: no identity twice."""
    keys = draw(st.lists(st.tuples(PATHS, VECTORS, st.booleans()), max_size=6))
    seen: dict[tuple[str, str | None], Action] = {}
    for path, dv, is_add in keys:
        size = draw(st.integers(0, 3))
        action: Add | Remove = (
            add(
                path,
                deletion_vector=dv,
                size=size,
                partition_values=draw(VALUES),
                stats=draw(st.sampled_from([None, "{}"])),
            )
            if is_add
            else remove(path, deletion_vector=dv, size=size)
        )
        seen.setdefault((action.file_path, action.dv_id), action)
    return list(seen.values())


def other_actions() -> st.SearchStrategy[list[Action]]:
    transactions = st.builds(SetTransaction, app_id=st.sampled_from("xy"), version=st.integers(0, 9))
    domains = st.builds(
        DomainMetadata, domain=st.sampled_from("pq"), configuration=st.just("{}"), removed=st.booleans()
    )
    metadata = st.builds(
        lambda name: Metadata(id="table", name=name, schema_string=METADATA.schema_string, partition_columns=("day",)),
        st.sampled_from(["m", "n"]),
    )
    return st.lists(st.one_of(transactions, domains, metadata), max_size=2)


@st.composite
def commits(draw: st.DrawFn) -> list[Action]:
    return [*draw(other_actions()), *draw(file_actions())]


HISTORIES = st.lists(commits(), min_size=1, max_size=7)


def write_checkpoint(log: LogBuilder, version: int, state: list[Action], form: str) -> None:
    small = [action for action in state if not isinstance(action, Add | Remove)]
    files = [action for action in state if isinstance(action, Add | Remove)]
    head = CheckpointMetadata(version=version)
    match form:
        case "classic":
            log.checkpoint(version, state, row_group_size=2)
        case "parts":
            log.multi_part_checkpoint(version, state, 3)
        case "v2 parquet":
            sidecars = [log.sidecar("one.parquet", files[::2]), log.sidecar("two.parquet", files[1::2])]
            log.put(checkpoint_v2_name(version, UUID, "parquet"), parquet_bytes([head, *small, *sidecars]))
        case "v2 json":
            sidecar = log.sidecar("one.parquet", files)
            log.put(checkpoint_v2_name(version, UUID, "json"), json_lines([head, *small, sidecar]))
        case "v2 inline":
            log.put(checkpoint_v2_name(version, UUID, "json"), json_lines([head, *state]))
        case _:  # version 2 in a classic name
            sidecar = log.sidecar("one.parquet", files)
            log.checkpoint(version, [head, *small, sidecar])


FORMS = ["classic", "parts", "v2 parquet", "v2 json", "v2 inline", "v2 in a classic name"]


def state_of(snapshot: Snapshot) -> dict[str, Any]:
    """Returns a snapshot as plain values."""
    files = snapshot.files
    files.validate(full=True)
    rows = [
        (
            row["path"],
            row["log_path"],
            row["size"],
            dict(row["partition_values"] or []),
            row["stats"],
            row["deletion_vector"],
        )
        for row in files.to_pylist()
    ]
    removed = [(row["path"], row["size"], row["deletion_vector"]) for row in snapshot.tombstones.to_pylist()]
    return {
        "metadata": snapshot.metadata,
        "files": sorted(rows, key=repr),
        "tombstones": sorted(removed, key=repr),
        "transactions": dict(snapshot.set_transactions),
        "domains": dict(snapshot.domain_metadata),
    }


def expected_of(table: NaiveTable) -> dict[str, Any]:
    def plain(dv: DeletionVectorDescriptor | None) -> dict[str, Any] | None:
        if dv is None:
            return None
        return {
            name: getattr(dv, name)
            for name in ("storage_type", "path_or_inline_dv", "offset", "size_in_bytes", "cardinality")
        }

    rows = [
        (item.file_path, item.path, item.size, dict(item.partition_values), item.stats, plain(item.deletion_vector))
        for item in table.adds.values()
    ]
    removed = [(item.file_path, item.size, plain(item.deletion_vector)) for item in table.removes.values()]
    return {
        "metadata": table.metadata,
        "files": sorted(rows, key=repr),
        "tombstones": sorted(removed, key=repr),
        "transactions": table.transactions,
        "domains": {name: domain for name, domain in table.domains.items() if not domain.removed},
    }


@examples(120)
@given(
    history=HISTORIES,
    at=st.integers(0, 7),
    form=st.sampled_from(["none", *FORMS]),
    clean=st.booleans(),
)
def test_any_history_is_replayed_as_the_model_does(
    history: list[list[Action]], at: int, form: str, clean: bool
) -> None:
    log, table = LogBuilder(), NaiveTable()
    at = min(at, len(history) - 1)
    for version, actions in enumerate([[PROTOCOL, METADATA, *history[0]], *history[1:]]):
        log.commit(*actions)
        table.apply(actions)
        if version == at and form != "none":
            write_checkpoint(log, version, table.actions(), form)
            if clean:
                log.drop(*(commit_name(old) for old in range(version + 1)))
    snapshot = Snapshot.load(log.storage)
    assert snapshot.version == len(history) - 1
    assert state_of(snapshot) == expected_of(table)


@examples(60)
@given(history=HISTORIES, first=st.integers(0, 6), length=st.integers(1, 6))
def test_a_compaction_stands_in_for_its_commits(history: list[list[Action]], first: int, length: int) -> None:
    log, table = LogBuilder(), NaiveTable()
    last = min(first + length, len(history) - 1)
    compacted = NaiveTable()
    for version, actions in enumerate([[PROTOCOL, METADATA, *history[0]], *history[1:]]):
        log.commit(*actions)
        table.apply(actions)
        if first <= version <= last:
            compacted.apply(actions)
    if last > first:
        domains = list(compacted.domains.values())
        rest = [action for action in compacted.actions() if not isinstance(action, DomainMetadata)]
        log.compaction(first, last, [*rest, *domains])
        log.put(commit_name(last), b"not read")
    snapshot = Snapshot.load(log.storage)
    assert state_of(snapshot) == expected_of(table)


@examples(80)
@given(history=HISTORIES, looks=st.lists(st.booleans(), min_size=7, max_size=7), at=st.integers(0, 7))
def test_advancing_ends_where_loading_does(history: list[list[Action]], looks: list[bool], at: int) -> None:
    """Also with files read in between, and a new checkpoint."""
    log, table = LogBuilder(), NaiveTable()
    snapshot: Snapshot | None = None
    for version, actions in enumerate([[PROTOCOL, METADATA, *history[0]], *history[1:]]):
        log.commit(*actions)
        table.apply(actions)
        if version == at:
            write_checkpoint(log, version, table.actions(), "classic")
        if looks[version]:
            snapshot = Snapshot.load(log.storage) if snapshot is None else snapshot.advance()
            assert state_of(snapshot) == expected_of(table)
    snapshot = Snapshot.load(log.storage) if snapshot is None else snapshot.advance()
    assert state_of(snapshot) == expected_of(table)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_new_vector_replaces_the_old_in_either_order(swapped: bool) -> None:
    log = LogBuilder()
    log.create(add("f"))
    actions: list[Action] = [add("f", deletion_vector=vector("v1")), remove("f")]
    log.commit(*(reversed(actions) if swapped else actions))
    files = Snapshot.load(log.storage).files.to_pylist()
    assert [row["deletion_vector"]["path_or_inline_dv"] for row in files] == ["v1"]


def test_an_absent_offset_is_another_vector_than_offset_zero() -> None:
    log = LogBuilder()
    log.create(add("f", deletion_vector=vector("v")), add("g", deletion_vector=vector("v", 0)))
    log.commit(remove("f", deletion_vector=vector("v", 0)), remove("g", deletion_vector=vector("v", 0)))
    assert Snapshot.load(log.storage).files["path"].to_pylist() == ["f"]
