"""Log cleanup: deleted and retained files; every retained version can still be read."""

from __future__ import annotations

import pytest

from catalog.conditions import DeltaError, UnsupportedWriterFeatures
from engine.delta.maintenance.checkpoint_writer import CheckpointForm, write_checkpoint
from engine.delta.maintenance.log_cleanup import clean_log
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import DAY_MS
from tests.engine.delta.committing import append, create, metadata
from tests.interleave.storages import DictStorage

# A moment shortly after midnight.
TODAY_MS = 20_000 * DAY_MS + 5


def log(
    ages_days: dict[int, float], checkpoints: dict[int, CheckpointForm], configuration: dict[str, str] | None = None
) -> DictStorage:
    """Returns a log with versions that are `ages_days` old; other versions are as old as their predecessors."""
    storage = DictStorage()
    age = 0.0
    for version in range(max([*ages_days, *checkpoints]) + 1):
        age = ages_days.get(version, age)
        storage.now_ms = int(TODAY_MS - age * DAY_MS)
        if version == 0:
            create(storage, metadata(configuration=configuration), frozenset({"v2Checkpoint"}))
        else:
            append(storage, f"f{version}")
        if version in checkpoints:
            write_checkpoint(Snapshot.load(storage), TODAY_MS, form=checkpoints[version], actions_per_file=2)
    return storage


def clean(storage: DictStorage, now_ms: int = TODAY_MS) -> set[str]:
    config = Snapshot.load(storage).config
    before = set(storage.files)
    removed = clean_log(storage, config, now_ms)
    assert set(removed) == before - set(storage.files)
    assert len(removed) == len(set(removed))
    return set(removed)


def readable(storage: DictStorage, versions: range) -> list[int]:
    """Returns the versions that can be read and have the expected content."""
    found = []
    for version in versions:
        try:
            snapshot = Snapshot.load(storage, version)
        except DeltaError:
            continue
        assert sorted(snapshot.files.column("path").to_pylist()) == sorted(f"f{n}" for n in range(1, version + 1))
        found.append(version)
    return found


CLASSIC, V2 = CheckpointForm.CLASSIC, CheckpointForm.V2_PARQUET


@pytest.mark.parametrize(
    ("ages", "checkpoints", "first"),
    [
        pytest.param({0: 1, 9: 0}, {5: CLASSIC}, 0, id="nothing is old"),
        pytest.param({0: 40, 9: 0}, {}, 0, id="old commits without a checkpoint"),
        pytest.param({0: 40, 9: 0}, {5: CLASSIC}, 5, id="a checkpoint among old commits"),
        pytest.param({0: 40, 6: 0, 9: 0}, {8: CLASSIC}, 0, id="a checkpoint among new commits only"),
        pytest.param({0: 40, 9: 0}, {2: CLASSIC, 5: CLASSIC, 9: CLASSIC}, 5, id="the newest of the old checkpoints"),
        pytest.param({0: 40, 5: 30, 9: 0}, {5: CLASSIC}, 0, id="a commit of the very day"),
        pytest.param({0: 40, 5: 31, 9: 0}, {5: CLASSIC}, 5, id="a commit of the day before"),
        pytest.param({0: 40, 9: 0}, {5: CheckpointForm.PARTS}, 5, id="a checkpoint in parts"),
        pytest.param({0: 40, 9: 0}, {2: V2, 5: V2}, 5, id="v2 checkpoints"),
        pytest.param({0: 40, 9: 0}, {5: CheckpointForm.V2_JSON}, 5, id="a v2 checkpoint in JSON"),
        pytest.param({0: 1, 3: 40, 9: 0}, {5: CLASSIC}, 0, id="a clock that went back"),
    ],
)
def test_files_of_no_retained_version_are_removed(
    ages: dict[int, float], checkpoints: dict[int, CheckpointForm], first: int
) -> None:
    storage = log(ages, checkpoints)
    clean(storage)
    assert readable(storage, range(10)) == list(range(first, 10))
    assert storage.exists(f"_delta_log/{first:020}.json"), "the cut's own commit stays"
    assert not clean(storage), "the second time there is nothing left to do"


def test_a_corrupt_checkpoint_is_no_ground_to_remove_commits() -> None:
    storage = log({0: 40, 9: 0}, {3: CLASSIC, 5: CLASSIC})
    storage.write(f"_delta_log/{5:020}.checkpoint.parquet", b"no parquet")
    clean(storage)
    assert readable(storage, range(10)) == list(range(3, 10))


def test_a_checkpoint_that_misses_a_sidecar_is_no_ground_either() -> None:
    storage = log({0: 40, 9: 0}, {5: V2})
    storage.delete(next(name for name in storage.files if "_sidecars" in name))
    assert not clean(storage)


def test_an_incomplete_checkpoint_is_none() -> None:
    storage = log({0: 40, 9: 0}, {5: CheckpointForm.PARTS})
    storage.delete(next(name for name in storage.files if ".checkpoint." in name))
    clean(storage)
    assert readable(storage, range(10)) == list(range(10))


def test_sidecars_go_once_nothing_names_them_and_they_are_old() -> None:
    storage = log({0: 40, 9: 0}, {2: V2, 5: V2})
    storage.now_ms = TODAY_MS
    storage.write("_delta_log/_sidecars/in-the-making.parquet", b"x")
    removed = clean(storage)
    assert sum("_sidecars" in name for name in removed) == 1  # version 2's two files
    left = {name for name in storage.files if "_sidecars" in name}
    assert "_delta_log/_sidecars/in-the-making.parquet" in left


def test_everything_of_the_removed_versions_goes_with_them() -> None:
    storage = log({0: 40, 9: 0}, {2: CLASSIC, 5: CLASSIC})
    storage.now_ms = TODAY_MS - 40 * DAY_MS
    gone = [
        f"_delta_log/{1:020}.crc",
        f"_delta_log/{2:020}.checkpoint.parquet",
        f"_delta_log/{3:020}.{7:020}.compacted.json",
        f"_delta_log/{5:020}.{7:020}.compacted.json",
        f"_delta_log/_staged_commits/{5:020}.x.json",
        "_delta_log/.00000000000000000001.json.0123.tmp",
    ]
    remaining = [
        f"_delta_log/{5:020}.crc",
        f"_delta_log/{6:020}.{7:020}.compacted.json",
        f"_delta_log/_staged_commits/{6:020}.x.json",
        "_delta_log/notes.txt",
        "_delta_log/.hidden",
    ]
    for name in (*gone, *remaining):
        if "checkpoint" not in name:
            storage.write(name, b"x")
    clean(storage)
    assert not [name for name in gone if storage.exists(name)]
    assert [name for name in remaining if not storage.exists(name)] == []


def test_commits_go_before_checkpoints_and_oldest_first() -> None:
    storage = log({0: 40, 9: 0}, {2: CLASSIC, 5: CLASSIC})
    removed = clean_log(storage, Snapshot.load(storage).config, TODAY_MS)
    kinds = ["checkpoint" in name for name in removed]
    assert kinds == sorted(kinds)
    assert list(removed[:5]) == [f"_delta_log/{version:020}.json" for version in range(5)]


@pytest.mark.parametrize(
    ("retention", "first"), [("interval 50 days", 0), ("interval 39 days", 0), ("interval 38 days", 5)]
)
def test_the_retention_is_the_table_s(retention: str, first: int) -> None:
    storage = log({0: 40, 9: 0}, {5: CLASSIC}, {"delta.logRetentionDuration": retention})
    clean(storage, TODAY_MS - DAY_MS)
    assert readable(storage, range(10))[0] == first


@pytest.mark.parametrize(("protected", "first"), [("4", 5), ("5", 5), ("6", 0)])
def test_protected_checkpoints_stay_until_the_cut_is_beyond_them(protected: str, first: int) -> None:
    storage = log({0: 40, 9: 0}, {5: CLASSIC}, {"delta.requireCheckpointProtectionBeforeVersion": protected})
    clean(storage)
    assert readable(storage, range(10))[0] == first


def test_the_log_of_a_table_that_is_not_understood_is_left_alone() -> None:
    storage = log({0: 40, 9: 0}, {5: CLASSIC})
    storage.write(
        f"_delta_log/{10:020}.json",
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["fromTheFuture"]}}\n',
    )
    with pytest.raises(UnsupportedWriterFeatures):
        clean(storage)
    assert storage.exists(f"_delta_log/{0:020}.json")
