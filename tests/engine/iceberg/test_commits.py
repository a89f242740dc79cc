"""Versions of a table in a folder: each is put once, for any concurrent writers and storage failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import (
    CommitOutcomeUnknown,
    CommittedWhileConverted,
    ConcurrentDrop,
    IcebergCommitFailed,
    IcebergTableIsStatic,
    IcebergUpdateRefused,
)
from engine.iceberg.commit.file_store import FileMetadataStore
from engine.iceberg.commit.fold import apply, unmet
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.commit.updates import (
    LAST_ADDED,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AddSpec,
    AssertCreate,
    AssertCurrentSchemaId,
    AssertRefSnapshotId,
    AssertTableUuid,
    Json,
    RemoveProperties,
    RemoveSnapshotRef,
    RemoveSnapshots,
    Requirement,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    SetSnapshotRef,
    SetStatistics,
    Update,
    UpgradeFormatVersion,
    requirement_json,
    update_json,
)
from engine.iceberg.spec.metadata import Reference
from engine.storage.confirmed_put import StorageRetries
from engine.storage.storage import Storage
from tests.interleave.storages import DictStorage, Interposed

SCHEMA: Json = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}],
}
NEW: tuple[Update, ...] = (
    UpgradeFormatVersion(3),
    AddSchema(SCHEMA, 1),
    SetCurrentSchema(LAST_ADDED),
    AddSpec({"spec-id": 0, "fields": []}),
    SetDefaultSpec(LAST_ADDED),
    AddSortOrder({"order-id": 0, "fields": []}),
    SetDefaultSortOrder(0),
)
RETRIES = StorageRetries(tries_max=3, sleep=lambda _: None)


def new_store(storage: Storage | None = None) -> FileMetadataStore:
    """Returns a new table's store; its clock advances by a second per call."""
    times = iter(range(1_000_000, 1 << 40, 1000))
    store = FileMetadataStore(
        storage=DictStorage() if storage is None else storage, clock=lambda: next(times), retries=RETRIES
    )
    made = store.commit(None, (AssertCreate(),), NEW)
    assert made is not None and made.metadata.format_version == 3
    return store


def snapshot(id: int, parent: int | None = None, *, number: int = 1, rows: int = 10, first: int = 0) -> AddSnapshot:
    value: Json = {
        "snapshot-id": id,
        "sequence-number": number,
        "timestamp-ms": 2_000_000_000 + id,
        "manifest-list": f"mem://table/metadata/snap-{id}.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
        "first-row-id": first,
        "added-rows": rows,
    }
    return AddSnapshot(value if parent is None else {**value, "parent-snapshot-id": parent})


def branch(name: str, id: int) -> SetSnapshotRef:
    return SetSnapshotRef(Reference(name=name, snapshot_id=id, is_branch=True))


def committed(store: FileMetadataStore, *updates: Update, base: LoadedMetadata | None = None) -> LoadedMetadata:
    found = store.commit(base or store.load(), (), updates)
    assert found is not None
    return found


def test_a_version_follows_the_one_that_was_read(tmp_path: Path) -> None:
    store = new_store()
    base = store.load()
    assert base.name == "metadata/v1.metadata.json"
    second = committed(store, SetProperties({"a": "1"}))
    assert store.commit(base, (), [SetProperties({"a": "2"})]) is None
    assert second.name == "metadata/v2.metadata.json" and store.load().metadata.properties == {"a": "1"}
    log = second.json["metadata-log"]
    assert [entry["metadata-file"].rpartition("/")[2] for entry in log] == ["v1.metadata.json"]
    assert store.storage.read_bytes("metadata/version-hint.text") == b"2"


def test_the_hint_may_lag_and_fail(tmp_path: Path) -> None:
    inner = DictStorage()

    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method == "write" and name.endswith("version-hint.text"):
            raise TimeoutError("no hint")
        return do()

    store = new_store(Interposed(inner, around))
    committed(store, SetProperties({"a": "1"}))
    assert "metadata/version-hint.text" not in inner.files
    assert store.load().name == "metadata/v2.metadata.json"


def test_compression_follows_the_version_before_and_no_spelling_comes_twice() -> None:
    store = new_store()
    base = committed(store, SetProperties({"write.metadata.compression-codec": "gzip"}))
    assert base.name == "metadata/v2.metadata.json"
    third = committed(store, SetProperties({"write.metadata.compression-codec": "none"}))
    assert third.name == "metadata/v3.gz.metadata.json"
    assert store.load().metadata.properties == {"write.metadata.compression-codec": "none"}
    assert store.commit(base, (), [SetProperties({"lost": "race"})]) is None
    store.storage.write("metadata/v4.metadata.json.gz", store.storage.read_bytes(third.name))
    assert store.commit(third, (), [SetProperties({"lost": "race"})]) is None


def test_unknown_keys_stay_and_old_files_go_where_the_table_says_so() -> None:
    store = new_store()
    base = store.load()
    base.json["of-another-engine"] = {"x": [1]}
    store.storage.write(base.name, json.dumps(base.json).encode())
    settings = {"write.metadata.previous-versions-max": "2", "write.metadata.delete-after-commit.enabled": "true"}
    committed(store, SetProperties(settings))
    for number in range(3):
        committed(store, SetProperties({"n": str(number)}))
    assert store.load().json["of-another-engine"] == {"x": [1]}
    names = [name for name in store.storage.list_names("metadata") if name.endswith(".json")]
    assert names == ["v3.metadata.json", "v4.metadata.json", "v5.metadata.json"]


def test_a_dropped_table_is_not_made_again_by_a_commit(tmp_path: Path) -> None:
    store = new_store()
    base = store.load()
    files = dict(store.storage.files)  # type: ignore[attr-defined]
    store.storage.delete_tree()
    with pytest.raises(ConcurrentDrop):
        store.commit(base, (), [SetProperties({"a": "1"})])
    store.storage.files.update(dict.fromkeys(files, (b"{}", 7)))  # type: ignore[attr-defined]
    with pytest.raises(ConcurrentDrop):
        store.commit(base, (), [SetProperties({"a": "1"})])


def test_unsupported_store_operation_is_rejected() -> None:
    store = new_store()
    base = store.load()
    with pytest.raises(IcebergUpdateRefused):
        store.commit(base, (), [SetLocation("mem://elsewhere")])
    other = LoadedMetadata(name="metadata/00001-ab.metadata.json", metadata=base.metadata, json=base.json)
    with pytest.raises(IcebergTableIsStatic):
        store.commit(other, (), [SetProperties({"a": "1"})])


@pytest.mark.parametrize(("has_log", "raised"), [(True, CommittedWhileConverted), (False, CommitOutcomeUnknown)])
def test_a_log_that_was_put_before_the_version_is_seen(has_log: bool, raised: type[CommitOutcomeUnknown]) -> None:
    """CONVERT TO DELTA may have read the table before, so that the version may be in no Delta table."""
    inner = DictStorage()

    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method.startswith("list") and name == "_delta_log":
            assert "metadata/v2.metadata.json" in inner.files
            if not has_log:
                raise TimeoutError("no listing")
        return do()

    store = new_store(Interposed(inner, around))
    if has_log:
        inner.write(f"_delta_log/{0:020}.json", b"{}")
    with pytest.raises(raised) as caught:
        store.commit(store.load(), (), [SetProperties({"a": "1"})])
    assert type(caught.value) is raised and store.load().metadata.properties == {"a": "1"}


Put = Callable[[Callable[[], Any]], Any]


def lost_answer(do: Callable[[], Any]) -> Any:
    do()
    raise TimeoutError("the answer was lost")


def never(do: Callable[[], Any]) -> Any:
    raise TimeoutError("the request was lost")


def twice(do: Callable[[], Any]) -> Any:
    do()
    return do()


def disk_full(do: Callable[[], Any]) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ([lost_answer], "ours"),
        ([twice], "ours"),
        ([never, never], "ours"),
        ([never, never, never], CommitOutcomeUnknown),
        ([disk_full], IcebergCommitFailed),
    ],
)
def test_unknown_put_outcome_is_resolved(script: Sequence[Put], outcome: Any) -> None:
    inner = DictStorage()
    left = [lambda do: do(), *script]  # the table's first version

    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        return left.pop(0)(do) if method == "put" and left else do()

    store = new_store(Interposed(inner, around))
    if outcome == "ours":
        assert committed(store, SetProperties({"a": "1"})).name == store.load().name == "metadata/v2.metadata.json"
        return
    with pytest.raises(outcome):
        store.commit(store.load(), (), [SetProperties({"a": "1"})])
    assert store.load().name == "metadata/v1.metadata.json"


def test_snapshots_and_their_logs() -> None:
    store = new_store()
    committed(store, snapshot(11), branch("main", 11))
    committed(store, snapshot(12, 11, number=2, first=10), branch("main", 12))
    found = committed(store, snapshot(13, 12, number=3, first=20, rows=5), branch("audit", 13)).metadata
    assert (found.current_snapshot_id, found.last_sequence_number, found.next_row_id) == (12, 3, 25)
    assert [id for _, id in found.snapshot_log] == [11, 12]
    committed(store, SetStatistics({"snapshot-id": 12, "statistics-path": "p"}))
    after = committed(store, branch("main", 13), RemoveSnapshotRef("audit"))
    assert [id for _, id in after.metadata.snapshot_log] == [11, 12, 13] and set(after.metadata.refs) == {"main"}
    gone = committed(store, RemoveSnapshots((12,)))
    assert [id for _, id in gone.metadata.snapshot_log] == [13]
    assert set(gone.metadata.snapshots) == {11, 13} and gone.json["statistics"] == []


REFUSED: list[tuple[Update, ...]] = [
    (snapshot(12, 11, number=1, first=10),),
    (snapshot(12, 11, number=2, first=9),),
    (snapshot(11, 11, number=2, first=10),),
    (branch("main", 99),),
    (RemoveSnapshots((11,)),),
    (UpgradeFormatVersion(2),),
    (SetCurrentSchema(7),),
    (SetDefaultSpec(7),),
]


@pytest.mark.parametrize("updates", REFUSED)
def test_updates_that_make_no_sense_are_refused(updates: tuple[Update, ...]) -> None:
    store = new_store()
    committed(store, snapshot(11), branch("main", 11))
    with pytest.raises(IcebergUpdateRefused):
        store.commit(store.load(), (), updates)
    assert store.load().name == "metadata/v2.metadata.json"


def test_requirements() -> None:
    store = new_store()
    base = committed(store, snapshot(11), branch("main", 11))
    met: tuple[Requirement, ...] = (
        AssertTableUuid(str(base.metadata.table_uuid).upper()),
        AssertRefSnapshotId("main", 11),
        AssertRefSnapshotId("audit", None),
        AssertCurrentSchemaId(0),
    )
    assert unmet(met, base.json) is None
    for other in (AssertCreate(), AssertTableUuid("x"), AssertRefSnapshotId("main", None), AssertCurrentSchemaId(1)):
        assert unmet((*met, other), base.json) == other
        assert store.commit(base, (other,), [RemoveProperties(("a",))]) is None


def test_metadata_of_version_1_becomes_one_of_version_2() -> None:
    """Optional v1 fields exist afterwards."""
    old: Json = {
        "format-version": 1,
        "location": "/t",
        "last-updated-ms": 1,
        "last-column-id": 1,
        "schema": SCHEMA,
        "partition-spec": [{"name": "id", "transform": "identity", "source-id": 1}],
        "current-snapshot-id": 5,
        "snapshots": [
            {"snapshot-id": 5, "timestamp-ms": 1, "manifest-list": "/t/x", "summary": {"operation": "append"}}
        ],
    }
    same = apply(old, [SetProperties({"a": "1"})], 2)
    assert same["schema"] == SCHEMA and same["partition-spec"][0]["field-id"] == 1000
    found = apply(old, [UpgradeFormatVersion(2)], 2)
    assert found["refs"] == {"main": {"snapshot-id": 5, "type": "branch"}}
    assert (found["last-sequence-number"], found["last-partition-id"], found["last-updated-ms"]) == (0, 1000, 2)
    assert "schema" not in found and old["format-version"] == 1


def test_updates_do_not_modify_their_base() -> None:
    """Versions share all parts that no update changes."""
    one_by_one: tuple[Update, ...] = (
        snapshot(1),
        branch("main", 1),
        branch("b", 1),
        snapshot(2, 1, number=2, first=10),
        branch("main", 2),
        SetProperties({"a": "1"}),
        RemoveProperties(("a",)),
        AddSchema({**SCHEMA, "schema-id": 1}, 1),
        SetCurrentSchema(LAST_ADDED),
        AddSpec({"spec-id": 1, "fields": []}),
        SetStatistics({"snapshot-id": 2, "statistics-path": "x"}),
        RemoveSnapshotRef("b"),
        RemoveSnapshots((1,)),
    )
    metadata: Json = {**new_store().load().json, "format-version": 1}
    for update in (UpgradeFormatVersion(2), UpgradeFormatVersion(3), *one_by_one):
        before = json.dumps(metadata)
        after = apply(metadata, [update], 3_000_000_000)
        assert json.dumps(metadata) == before and after != metadata, update
        metadata = after
    assert [each["snapshot-id"] for each in metadata["snapshot-log"]] == [2]
    assert metadata["refs"] == {"main": {"snapshot-id": 2, "type": "branch"}}


def test_values_are_those_of_the_rest_catalog() -> None:
    found = [update_json(each)["action"] for each in (*NEW, snapshot(1), branch("b", 1), RemoveSnapshots((1,)))]
    assert found == [
        "upgrade-format-version",
        "add-schema",
        "set-current-schema",
        "add-spec",
        "set-default-spec",
        "add-sort-order",
        "set-default-sort-order",
        "add-snapshot",
        "set-snapshot-ref",
        "remove-snapshots",
    ]
    assert update_json(branch("b", 1)) == {
        "action": "set-snapshot-ref",
        "ref-name": "b",
        "snapshot-id": 1,
        "type": "branch",
    }
    assert requirement_json(AssertRefSnapshotId("main", None)) == {
        "type": "assert-ref-snapshot-id",
        "ref": "main",
        "snapshot-id": None,
    }
