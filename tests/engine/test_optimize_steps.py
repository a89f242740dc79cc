"""OPTIMIZE as a series of versions, with concurrent writers and without Spark: pyarrow copies the rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.conditions import LogWriteFailed, StatementCancelled
from engine.concurrency.cancel import CancelToken
from engine.delta.commit.transaction import Transaction
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.planning.plans.file_writes import WriteTarget, WrittenFile
from engine.planning.plans.reads import ReadPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.tables import compaction
from tests.engine.lake_sessions import actions, rows, version_of


class Copier:
    """Replaces a Spark session: each scan's rows become one file per partition."""

    def write_files(self, plan: ReadPlan, target: WriteTarget, *_: Any) -> tuple[WrittenFile, ...]:
        written = []
        for scan in plan.scans:
            parts: dict[tuple[tuple[str, str], ...], list[pa.Table]] = {}
            for file in scan.files.to_pylist():
                rows = pq.ParquetFile(Path(scan.table_root) / file["path"]).read()
                parts.setdefault(tuple(file["partition_values"]), []).append(rows)
            for values, tables in parts.items():
                folders = [f"{name}={value}" for name, value in values]
                path = Path(target.folder, *folders, f"{uuid.uuid4()}.parquet")
                pq.write_table(pa.concat_tables(tables), path)
                name = str(path.relative_to(target.folder))
                size = path.stat().st_size
                written.append(WrittenFile(path=name, size=size, modification_time=1, partition_values=dict(values)))
        return tuple(written)

    def __getattr__(self, name: str) -> Any:
        assert name in ("set_setting", "set_current_schema", "close")
        return lambda *_: None


class Driver:
    def open_session(self) -> Copier:
        return Copier()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LakeSession]:
    """Yields a session over a table with two partitions, three files each, ten rows per file."""
    for first in range(0, 60, 20):
        numbers = list(range(first, first + 20))
        table = pa.table({"k": pa.array(numbers, pa.int32()), "p": [str(k % 2) for k in numbers]})
        write_deltalake(_folder(tmp_path), table, mode="append", partition_by=["p"])
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path))), Driver())  # type: ignore[arg-type]
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every partition is a step."""
    monkeypatch.setattr(compaction, "STEP_BYTES", 1)
    monkeypatch.setattr(compaction, "JOINT_BYTES_MAX", 0)


def _folder(lake: Path) -> Path:
    return lake / "default" / "things"


def _numbers(lake: Path) -> list[int]:
    return sorted(DeltaTable(_folder(lake)).to_pyarrow_table()["k"].to_pylist())


def _operations(lake: Path) -> list[str]:
    return [commit["operation"] for commit in reversed(DeltaTable(_folder(lake)).history())][3:]


def _optimized(session: LakeSession) -> dict[str, Any]:
    ((_, metrics),) = rows(session, "OPTIMIZE things")
    return dict(metrics)


def _ensure_nothing_is_left_over(lake: Path) -> None:
    known = set(DeltaTable(_folder(lake)).file_uris()) | {
        str(_folder(lake) / action["remove"]["path"])
        for version in range(version_of(lake, "things") + 1)
        for action in actions(lake, "things", version)
        if "remove" in action
    }
    assert {str(path) for path in _folder(lake).glob("p=*/*.parquet")} <= known


@pytest.mark.usefixtures("small_steps")
def test_each_step_is_a_version_and_the_answer_is_their_sum(session: LakeSession, tmp_path: Path) -> None:
    metrics = _optimized(session)
    assert _operations(tmp_path) == ["OPTIMIZE", "OPTIMIZE"]
    assert (metrics["numFilesAdded"], metrics["numFilesRemoved"], metrics["partitionsOptimized"]) == (2, 6, 2)
    infos = [actions(tmp_path, "things", version)[0]["commitInfo"] for version in (3, 4)]
    assert [info["operationMetrics"]["numRemovedFiles"] for info in infos] == ["3", "3"]
    assert [info["readVersion"] for info in infos] == [2, 3]
    assert _numbers(tmp_path) == list(range(60))


OTHERS = [
    # another writer's change before the first version, the operations, added and removed files (None: those that the
    # other writer has left)
    ("append", ["WRITE", "OPTIMIZE", "OPTIMIZE"], (2, 6)),
    ("delete", ["DELETE", "OPTIMIZE", "OPTIMIZE"], (2, None)),
    ("delete all", ["DELETE"], (0, 0)),
]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(("other", "operations", "moved"), OTHERS, ids=[other for other, _, _ in OTHERS])
def test_other_writers_lose_nothing(
    session: LakeSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: str,
    operations: list[str],
    moved: tuple[int, int | None],
) -> None:
    """They commit after the first step's files are written and before its version is."""
    commit, numbers, left = Transaction.commit, list[list[int]](), list[int]()

    def overtaken(transaction: Transaction, *args: Any) -> Any:
        if not numbers:
            match other:
                case "append":
                    write_deltalake(
                        _folder(tmp_path), pa.table({"k": pa.array([99], pa.int32()), "p": ["0"]}), mode="append"
                    )
                case "delete":
                    DeltaTable(_folder(tmp_path)).delete("k = 2")
                case _:  # delete all
                    DeltaTable(_folder(tmp_path)).delete()
            numbers.append(_numbers(tmp_path))
            left.append(len(DeltaTable(_folder(tmp_path)).file_uris()))
        return commit(transaction, *args)

    monkeypatch.setattr(Transaction, "commit", overtaken)
    metrics = _optimized(session)
    assert _operations(tmp_path) == operations
    added, removed = moved
    assert metrics["numFilesAdded"] == added
    # A step that lost against a DELETE leaves the DELETE's file alone; a later step includes it.
    assert metrics["numFilesRemoved"] in ((left[0] - 1, left[0]) if removed is None else (removed,))
    assert _numbers(tmp_path) == numbers[0]
    _ensure_nothing_is_left_over(tmp_path)


@pytest.mark.usefixtures("small_steps")
def test_cancelling_leaves_the_steps_that_are_done(
    session: LakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, commit = StatementRequest(identity=Identity("ann"), cancel=CancelToken()), Transaction.commit

    def last(transaction: Transaction, *args: Any) -> Any:
        committed = commit(transaction, *args)
        request.cancel.cancel()
        return committed

    monkeypatch.setattr(Transaction, "commit", last)
    with pytest.raises(StatementCancelled):
        session.execute("OPTIMIZE things", request)
    assert _operations(tmp_path) == ["OPTIMIZE"]
    assert _numbers(tmp_path) == list(range(60))
    _ensure_nothing_is_left_over(tmp_path)


def test_a_commit_that_fails_leaves_no_file(
    session: LakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise LogWriteFailed("things", 1, "a fault")

    monkeypatch.setattr(Transaction, "commit", stop)
    with pytest.raises(LogWriteFailed):
        _optimized(session)
    assert _operations(tmp_path) == []
    _ensure_nothing_is_left_over(tmp_path)


def test_purging_of_a_table_without_deleted_rows_is_no_version(session: LakeSession, tmp_path: Path) -> None:
    ((_, metrics),) = rows(session, "REORG TABLE things APPLY (PURGE)")
    assert (metrics["totalConsideredFiles"], metrics["totalFilesSkipped"]) == (6, 6)
    assert _operations(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(28, "no space left"), RuntimeError("unexpected")], ids=repr)
def test_a_compaction_that_fails_does_not_fail_the_statement_before_it(
    session: LakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    rows(session, "ALTER TABLE things SET TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')")
    tried = []

    def fail(*_: Any) -> Any:
        tried.append(1)
        raise error

    monkeypatch.setattr("engine.attempts._step_by_step", fail)
    rows(session, "DELETE FROM things")
    assert tried == [1]
    assert _numbers(tmp_path) == []


def test_a_compaction_is_cancelled_without_the_statement_before_it(
    session: LakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(session, "ALTER TABLE things SET TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')")
    request, ended = StatementRequest(identity=Identity("ann")), list[StatementCancelled]()

    def compact(_: Any, __: Any, context: Any) -> Any:
        assert not request.cancel.cancel(), "the outcome of the statement is known"
        with pytest.raises(StatementCancelled) as cancelled:
            context.request.cancel.ensure_live()
        ended.append(cancelled.value)
        raise cancelled.value

    monkeypatch.setattr("engine.attempts._step_by_step", compact)
    session.execute("DELETE FROM things", request).close()
    assert len(ended) == 1 and request.cancel.reason is None
    assert _numbers(tmp_path) == []
