"""VACUUM with zero retention, concurrent with statements in the same server, in every order of their steps: no
referenced file is removed, and a running statement's files stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from catalog.catalog import Catalog
from catalog.entries import TableEntry
from catalog.names import TableName
from catalog.store.store import MemoryStore
from engine.binding.bound import BoundTable
from engine.binding.sources import Sources
from engine.concurrency.cancel import CancelToken
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.unused_files import CLOCK_MARGIN_MS
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.formats.delta.delta_format import DeltaFormat, delta_snapshot
from engine.formats.delta.planning.maintenance_plans import VacuumPlan
from engine.formats.delta.writing.vacuum import vacuum
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.execution_context import ExecutionContext
from engine.storage.storage import Storage
from engine.tables.formats import TableFormats, formats_of, watch_loads
from engine.tables.operations import CommitDescription, TableOperation
from tests.engine.contexts import context_without_spark
from tests.engine.delta.committing import add, create, describe, metadata
from tests.interleave.scheduler import Step, explore
from tests.interleave.storages import DictStorage, Interposed

ROOT = "dict://table"
FORMAT = DeltaFormat(load_snapshot)
ENTRY = TableEntry(name=TableName("main", "s", "t"), location=ROOT)
DESCRIPTION = CommitDescription(name="VACUUM END", operation=TableOperation.VACUUM, changes_data=False)


def stepped(storage: DictStorage, step: Step, *methods: str) -> Storage:
    """Stops before calls to `methods`, and before the data is listed."""

    def around(method: str, name: str, do: Any) -> Any:
        if method in methods or (method == "list" and name == ""):
            step()
        return do()

    return Interposed(storage, around)


def formats_over(storage: Storage, step: Step) -> TableFormats:
    """Stops before a version is loaded, when whoever loads it is known already."""

    def load(location: str, version: int | None) -> Snapshot:
        step()
        return Snapshot.load(storage, version)

    return formats_of(DeltaFormat(read=load, open=lambda location: storage))


def ticking(storage: DictStorage) -> Callable[[], int]:
    """Returns a clock with a distinct time for each event."""

    def now_ms() -> int:
        storage.now_ms += 5
        return storage.now_ms

    return now_ms


def context_of(now_ms: Callable[[], int], sources: Sources) -> ExecutionContext:
    request = StatementRequest(identity=Identity("ann"), cancel=CancelToken(), now_ms=now_ms)
    return context_without_spark(request, sources)


def vacuums(storage: DictStorage, shared: Sources) -> Callable[[Step], Any]:
    def writer(step: Step) -> None:
        steady = stepped(storage, step, "delete")
        sources = replace(shared, formats=formats_over(steady, step))
        table = BoundTable(name=None, entry=ENTRY, snapshot=Snapshot.load(steady), own=FORMAT)
        plan = VacuumPlan(
            table=table, retention_ms=0, lite=False, dry_run=False, tells_place=True, begin=DESCRIPTION, end=DESCRIPTION
        )
        storage.now_ms += 10
        with vacuum(plan, context_of(ticking(storage), sources)) as staged:
            assert staged.transaction is not None
            staged.transaction.commit()

    return writer


@contextmanager
def statement(storage: DictStorage, shared: Sources, step: Step) -> Iterator[tuple[Storage, Snapshot]]:
    """One that uses the newest version."""
    steady = stepped(storage, step, "put")
    with shared.pins.statement(lambda: storage.now_ms) as uses:
        yield steady, delta_snapshot(watch_loads(formats_over(steady, step), uses)["delta"].load(ROOT))


def inserts(storage: DictStorage, shared: Sources) -> Callable[[Step], Any]:
    """Writes a file and commits it afterwards."""

    def writer(step: Step) -> None:
        with statement(storage, shared, step) as (steady, snapshot):
            steady.write("new", b"rows")
            transaction = Transaction.on(snapshot, describe())
            transaction.stage(add("new"))
            transaction.commit()

    return writer


def replaces(storage: DictStorage, shared: Sources) -> Callable[[Step], Any]:
    """Reads a file, and commits another in its place."""

    def writer(step: Step) -> None:
        with statement(storage, shared, step) as (steady, snapshot):
            steady.read_bytes("old")
            steady.write("new", b"rows")
            transaction = Transaction.on(snapshot, describe(TableOperation.DML, "UPDATE"))
            transaction.stage_removes(snapshot.files)
            transaction.stage(add("new"))
            transaction.commit()

    return writer


def reads_first_version(storage: DictStorage, shared: Sources) -> Callable[[Step], Any]:
    def writer(step: Step) -> str | None:
        steady = stepped(storage, step, "put")
        with shared.pins.statement(lambda: storage.now_ms) as uses:
            pinned = delta_snapshot(watch_loads(formats_over(steady, step), uses)["delta"].load(ROOT, 1))
            step()
            try:
                steady.read_bytes(pinned.files.column("path").to_pylist()[0])
            except FileNotFoundError:
                return "missing"
        return None

    return writer


def made() -> tuple[DictStorage, Sources]:
    """Returns a table with one file, and one that was replaced, both older than anything that follows."""
    storage = DictStorage(ROOT)
    create(storage, metadata(configuration={}))
    for path, gone in (("first", None), ("old", "first")):
        storage.write(path, b"rows")
        snapshot = Snapshot.load(storage)
        transaction = Transaction.on(snapshot, describe(TableOperation.DML), clock=lambda: storage.now_ms)
        transaction.stage(add(path))
        if gone is not None:
            transaction.stage_removes(snapshot.files)
        transaction.commit()
    storage.now_ms += 1_000_000
    return storage, Sources(catalog=Catalog(MemoryStore(), None, (), None), formats=formats_of())


def explored(*kinds: Callable[[DictStorage, Sources], Callable[[Step], Any]]) -> Iterator[tuple[Any, DictStorage]]:
    def make() -> tuple[list[Any], DictStorage]:
        storage, shared = made()
        return [kind(storage, shared) for kind in kinds], storage

    return explore(make)


def ensure_whole(storage: DictStorage) -> None:
    for path in Snapshot.load(storage).files.column("path").to_pylist():
        assert storage.exists(path)


def test_vacuum_removes_no_file_in_use() -> None:
    for kind in (inserts, replaces):
        runs, vacuumed = 0, 0
        for run, storage in explored(vacuums, kind):
            assert run.results == [None, None], kind
            ensure_whole(storage)
            vacuumed += not storage.exists("first")
            runs += 1
        assert runs > 1 and vacuumed


def test_an_old_version_is_read_to_its_end_if_the_read_began_first() -> None:
    """A later read may miss expired files; it never starts while half of them are removed."""
    answers = set()
    for run, storage in explored(vacuums, reads_first_version):
        assert run.results[0] is None
        answers.add(run.results[1])
        if storage.exists("first"):
            assert run.results[1] is None
    assert answers == {None, "missing"}


def test_a_vacuum_that_is_killed_leaves_a_table_to_go_on_with() -> None:
    """Before any storage change; the next one removes the rest."""

    class Killed(BaseException):
        """Nothing may catch this."""

    for calls in range(20):
        storage, shared = made()
        for number in range(3):
            storage.write(f"stray-{number}", b"rows")
        storage.now_ms += CLOCK_MARGIN_MS
        left = [calls]

        def around(method: str, name: str, do: Any, left: list[int] = left) -> Any:
            if method in ("put", "write", "delete"):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
            return do()

        try:
            _vacuum(Interposed(storage, around), storage, shared)
        except Killed:
            is_done = False
        else:
            is_done = True
        ensure_whole(storage)
        _vacuum(storage, storage, shared)
        ensure_whole(storage)
        assert not storage.exists("first") and not storage.exists("stray-2")
        if is_done:
            break
    assert is_done and calls > 5


def _vacuum(used: Storage, storage: DictStorage, shared: Sources) -> None:
    storage.now_ms += 10
    table = BoundTable(name=None, entry=ENTRY, snapshot=Snapshot.load(used), own=FORMAT)
    plan = VacuumPlan(
        table=table, retention_ms=0, lite=False, dry_run=False, tells_place=True, begin=DESCRIPTION, end=DESCRIPTION
    )
    sources = replace(shared, formats=formats_over(used, lambda: None))
    with vacuum(plan, context_of(ticking(storage), sources)) as staged:
        assert staged.transaction is not None
        staged.transaction.commit()
