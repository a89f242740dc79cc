"""CREATE and DROP of one name in several servers, in every order of their steps.

Catalogs share one lake and one folder with their files, as servers do. A step precedes each catalog read and change,
each log write and each folder removal. In any order: a readable table can be dropped, a recorded name resolves to a
table, and every statement ends with an answer or a named error.
"""

from __future__ import annotations

import errno
import os
import random
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog
from catalog.conditions import (
    CatalogNotWritable,
    ConcurrentDrop,
    DiscoveredObject,
    LogWriteFailed,
    TableAlreadyExists,
    TableNotFound,
    TableNotRemovable,
)
from catalog.discovery.discovery import ServedFolder
from catalog.entries import TableEntry
from catalog.names import TableName
from catalog.state import CatalogState
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles, LocalTree
from engine.binding.bound import Outcome
from engine.binding.sources import Sources
from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.actions import Add
from engine.execution.writes.commit import commit, report_removal
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import DeltaFormat
from engine.planning.plans.ddl import CreateTablePlan, DropTablePlan
from engine.runtime.identity import Identity
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.statements.containers import execution as drops
from engine.statements.containers.execution import drop_table
from engine.storage import unlisted_folders
from engine.storage.storage import UNLISTED_MARK, Storage, open_storage
from engine.tables.formats import formats_of
from tests.engine import planned as planned_module
from tests.engine.planned import make_table, planned
from tests.interleave.scheduler import Run, Step, Writer, explore, run_schedule
from tests.interleave.storages import Interposed
from tests.samples import with_slow

NAME = TableName("spark_catalog", "default", "t")
STATE = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
CREATE, CREATE_IF, WITH_ROWS = "CREATE TABLE t (a INT)", "CREATE TABLE IF NOT EXISTS t (a INT)", "with rows"
DROP, DROP_IF = "DROP TABLE t", "DROP TABLE IF EXISTS t"
NOW_MS = 1_700_000_000_000

round_number = threading.local()
# If putting a marker file into a folder is a step, which multiplies the number of orders.
steps_at_barriers = False


def advance() -> None:
    step: Step | None = getattr(round_number, "step", None)
    if step is not None:
        step()


class SteppingStore(FileStore):
    def load(self) -> CatalogState:
        advance()
        return super().load()

    def swap(self, base: CatalogState, new: CatalogState, transaction_id: str | None = None) -> bool:
        advance()
        return super().swap(base, new, transaction_id)


def stepping_storage(path: str, allowed_roots: Sequence[str] | None = None) -> Storage:
    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method in ("put", "remove", "write") and (steps_at_barriers or name != UNLISTED_MARK):
            advance()
        return do()

    return Interposed(open_storage(path, allowed_roots=allowed_roots), around)


@pytest.fixture(autouse=True)
def _stepping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the order of steps is tested, not the disk
    use_storage(monkeypatch, stepping_storage)


def use_storage(monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Storage]) -> None:
    for module in (planned_module, drops, unlisted_folders):
        monkeypatch.setattr(module, "open_storage", opened)


def open_catalog(lake: Path) -> Catalog:
    own = str(lake / ".catalog")
    return Catalog(SteppingStore(LocalFiles(own)), ServedFolder(LocalTree(str(lake))), (), own)


def execute(catalog: Catalog, text: str) -> None:
    """Runs a statement through the pipeline, without Spark."""
    with_rows = text == WITH_ROWS
    plan = planned(
        CREATE if with_rows else text, STATE, Sources(catalog=catalog, formats=formats_of(DeltaFormat(load_snapshot)))
    )
    match plan:
        case CreateTablePlan() if with_rows:
            create_with_rows(plan, catalog)
        case CreateTablePlan():
            make_table(plan, catalog, NOW_MS)
        case DropTablePlan():
            drop_table(plan, catalog, lambda _: None)
        case _:
            raise AssertionError(plan)


def create_with_rows(plan: CreateTablePlan, catalog: Catalog) -> None:
    """Creates as CREATE TABLE … AS: files first, which are read before the log is written."""
    assert plan.entry is not None and plan.definition is not None and plan.description is not None
    storage, path = stepping_storage(plan.entry.location), f"part-{uuid.uuid4()}.parquet"
    with report_removal(plan.entry):
        storage.write(path, b"rows")
        advance()
        storage.stat(path)
        transaction = Transaction.create(storage, plan.description)
        transaction.define(plan.definition)
        transaction.stage(Add(path=path, partition_values={}, size=4, modification_time=0, data_change=True))
        staged = StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, creates=plan.entry)
        commit(staged, RetryPolicy(), catalog)


def ensure_sound(lake: Path) -> None:
    """Checks the invariants at the end."""
    catalog = open_catalog(lake)
    found = catalog.view().find(NAME)
    if found is not None:
        assert isinstance(found, TableEntry)
        assert NAME in catalog.view().state.relations, "it can be read and not be dropped"
        snapshot = load_snapshot(found.location)  # the name leads to a table
        for path in snapshot.files.column("path").to_pylist():
            assert snapshot.storage.exists(path), "rows are lost"
        execute(catalog, DROP)
    assert catalog.view().find(NAME) is None
    assert not list((lake / "default").rglob("*.json"))
    execute(catalog, CREATE)
    execute(catalog, DROP)


def world(root: Path, before: Sequence[str], texts: Sequence[str]) -> tuple[list[Writer], Path]:
    lake = root / uuid.uuid4().hex
    lake.mkdir()
    for text in before:
        execute(open_catalog(lake), text)

    def writer(text: str, catalog: Catalog) -> Writer:
        def write(step: Step) -> None:
            round_number.step = step
            execute(catalog, text)

        return write

    return [writer(text, open_catalog(lake)) for text in texts], lake


# Expected errors: the last one if a DROP finds a log before its name is recorded.
RACES = (TableAlreadyExists, TableNotFound, ConcurrentDrop, DiscoveredObject)


def ensure_explained(run: Run) -> None:
    assert all(result is None or isinstance(result, RACES) for result in run.results), run.results


PAIRS = [((), (CREATE, DROP)), ((CREATE,), (DROP, CREATE)), ((CREATE,), (DROP, DROP_IF))]


@pytest.mark.parametrize(("before", "texts"), with_slow(PAIRS, (2,)), ids=lambda texts: " | ".join(texts) or "nothing")
def test_every_order_of_two_statements(tmp_path: Path, before: Sequence[str], texts: Sequence[str]) -> None:
    for run, lake in explore(lambda: world(tmp_path, before, texts)):
        ensure_explained(run)
        ensure_sound(lake)


OTHERS = [
    (CREATE_IF, CREATE),
    (WITH_ROWS, CREATE),
    (WITH_ROWS, DROP_IF),
    (WITH_ROWS, CREATE, DROP),
    (CREATE, DROP, CREATE_IF),
    (WITH_ROWS, WITH_ROWS, DROP_IF),
]


@pytest.mark.diagonals("texts", "before", step=2)
@pytest.mark.parametrize("texts", OTHERS, ids=" | ".join)
@pytest.mark.parametrize("before", [(), (CREATE,)], ids=["nothing", "table"])
def test_many_orders_of_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: Sequence[str], texts: Sequence[str]
) -> None:
    monkeypatch.setattr(f"{__name__}.steps_at_barriers", True)
    chance = random.Random(" ".join((*before, *texts)))
    for _ in range(20):
        writers, lake = world(tmp_path, before, texts)
        run = run_schedule(writers, [chance.randrange(6) for _ in range(40)])
        ensure_explained(run)
        ensure_sound(lake)


def test_rows_that_went_with_another_table_are_in_no_new_one(tmp_path: Path) -> None:
    """Both tables use one folder; the slower one's rows exist when the faster one is dropped."""
    outcomes = []
    for steps in range(2, 7):
        writers, lake = world(tmp_path, (), (WITH_ROWS, CREATE, DROP))
        run = run_schedule(writers, [*[0] * steps, *[1] * 40])
        ensure_explained(run)
        ensure_sound(lake)
        outcomes.append(run.results)
    assert any(isinstance(slower, ConcurrentDrop) and faster is dropper is None for slower, faster, dropper in outcomes)


# --- Disks that cannot be written -------------------------------------------------------------------------------------


def refusing(*methods: str) -> Callable[..., Storage]:
    def around(method: str, name: str, do: Callable[[], Any]) -> Any:
        if method in methods:
            raise OSError(errno.EROFS, "Read-only file system")
        return do()

    return lambda path, allowed_roots=None: Interposed(open_storage(path, allowed_roots=allowed_roots), around)


def test_a_table_whose_files_cannot_be_removed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = open_catalog(tmp_path)
    execute(catalog, CREATE)
    before = catalog.view().resolve(NAME)
    use_storage(monkeypatch, refusing("remove"))
    with pytest.raises(TableNotRemovable, match="Read-only file system"):
        execute(catalog, DROP)
    assert catalog.view().resolve(NAME) == before
    use_storage(monkeypatch, open_storage)
    execute(catalog, DROP)
    assert catalog.view().find(NAME) is None


def test_a_table_whose_log_cannot_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_storage(monkeypatch, refusing("put"))
    catalog = open_catalog(tmp_path)
    with pytest.raises(LogWriteFailed, match="Read-only file system"):
        execute(catalog, CREATE)
    assert catalog.view().find(NAME) is None


class ReadOnlyFiles(LocalFiles):
    def create(self, path: str, data: bytes) -> bool:
        raise OSError(errno.EROFS, "Read-only file system")


def test_a_catalog_that_cannot_be_written_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    own = str(tmp_path / ".catalog")
    execute(open_catalog(tmp_path), CREATE)
    catalog = Catalog(FileStore(ReadOnlyFiles(own)), ServedFolder(LocalTree(str(tmp_path))), (), own)
    for text in (DROP, DROP_IF, "CREATE TABLE other (a INT)"):
        with pytest.raises(CatalogNotWritable, match="Read-only file system"):
            execute(catalog, text)
    assert [entry.name for entry in catalog.view().relations(NAME.schema_name)] == [NAME]
