"""Operations as functions of their reads, and a checker for serializable histories.

The model's table is a set of files, each with a partition and a set of rows. An operation derives its writes from its
reads only; so, to check a history, each committed operation is derived again from the log's state just before its
version. If that gives the committed result, the version order is a serial order that explains all results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import ConcurrentModification
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.definition.table_config import choose_protocol
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Add, Metadata, SetTransaction, parse_action, parse_json_stream
from engine.delta.spec.paths import LOG_DIR, LogFileKind, commit_name, parse_log_path
from engine.storage.storage import Storage
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.row_files import FilePredicate
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.interleave.scheduler import Step
from tests.interleave.storages import DictStorage

SCHEMA = StructType((StructField("p", PrimitiveType.STRING), StructField("row", PrimitiveType.STRING)))
PARTITIONS = ("a", "b")


@dataclass(frozen=True, slots=True)
class File:
    """A data file in the model: its path encodes everything, so a state can be read from the log."""

    path: str
    partition: str
    rows: frozenset[str]


def file_of(partition: str, name: str, rows: frozenset[str]) -> File:
    return File(f"p={partition}/{name}:{'+'.join(sorted(rows))}", partition, rows)


def parse_file(path: str) -> File:
    folder, _, name = path.partition("/")
    return File(path, folder.removeprefix("p="), frozenset(name.rpartition(":")[2].split("+")) - {""})


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The log's state at one version."""

    files: frozenset[File] = frozenset()
    configuration: tuple[tuple[str, str | None], ...] = ()
    applications: tuple[tuple[str, int], ...] = ()

    def of(self, partition: str | None) -> frozenset[File]:
        return frozenset(file for file in self.files if partition in (None, file.partition))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An operation's writes."""

    adds: frozenset[File] = frozenset()
    removes: frozenset[File] = frozenset()
    settings: tuple[tuple[str, str], ...] = ()
    application: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One writer's operation."""

    name: str
    # (reads, writer's name) -> writes.
    derive: Callable[[State, str], Effect]
    operation: TableOperation = TableOperation.DML
    # A partition, `*` for the whole table, None for nothing.
    reads: str | None = None
    reads_app: str | None = None
    data_change: bool = True
    exclusive: bool = False
    # Keeps the rows; may then be ordered freely against appends.
    rearranges: bool = False


def _append(partition: str) -> Callable[[State, str], Effect]:
    return lambda _, who: Effect(adds=frozenset({file_of(partition, who, frozenset({who}))}))


def _rewrite(partition: str | None) -> Callable[[State, str], Effect]:
    """Returns an effect that adds the writer's mark to every row in the partition, and a count of the rows read."""

    def derive(state: State, who: str) -> Effect:
        old = state.of(partition)
        rows = frozenset(f"{row}.{who}" for file in old for row in file.rows) | {f"{who}saw{len(old)}"}
        return Effect(adds=frozenset({file_of(partition or "a", who, rows)}), removes=old)

    return derive


def _delete(partition: str) -> Callable[[State, str], Effect]:
    return lambda state, _: Effect(removes=state.of(partition))


def _compact(partition: str) -> Callable[[State, str], Effect]:
    def derive(state: State, who: str) -> Effect:
        old = state.of(partition)
        rows = frozenset(row for file in old for row in file.rows)
        return Effect(adds=frozenset({file_of(partition, who, rows)}), removes=old)

    return derive


def _append_count(partition: str) -> Callable[[State, str], Effect]:
    """Returns an insert from a select over the table itself."""
    return lambda state, who: Effect(
        adds=frozenset({file_of(partition, who, frozenset({f"{who}saw{len(state.of(partition))}"}))})
    )


def _once(app: str) -> Callable[[State, str], Effect]:
    """Returns an idempotent insert: nothing if the application's version is already committed."""

    def derive(state: State, who: str) -> Effect:
        if dict(state.applications).get(app, -1) >= 0:
            return Effect()
        return Effect(adds=frozenset({file_of("a", who, frozenset({who}))}), application=(app, 0))

    return derive


APPEND_A = Op(name="append a", derive=_append("a"), operation=TableOperation.APPEND)
APPEND_B = Op(name="append b", derive=_append("b"), operation=TableOperation.APPEND)
INSERT_SELECT = Op(name="insert select a", derive=_append_count("a"), operation=TableOperation.APPEND, reads="a")
REWRITE_A = Op(name="rewrite a", derive=_rewrite("a"), reads="a")
REWRITE_B = Op(name="rewrite b", derive=_rewrite("b"), reads="b")
OVERWRITE = Op(name="overwrite", derive=_rewrite(None), reads="*")
DELETE_A = Op(name="delete a", derive=_delete("a"), reads="a")
COMPACT_A = Op(
    name="optimize a",
    derive=_compact("a"),
    operation=TableOperation.OPTIMIZE,
    reads="a",
    data_change=False,
    rearranges=True,
)
SET_PROPERTY = Op(
    name="set property",
    derive=lambda _, who: Effect(settings=((f"owner.{who}", "1"),)),
    operation=TableOperation.METADATA,
)
ONCE = Op(name="insert once", derive=_once("app"), operation=TableOperation.APPEND, reads_app="app")
RESTORE = Op(name="restore", derive=_rewrite(None), reads="*", exclusive=True)


def partition_is(partition: str) -> FilePredicate:
    """Returns the predicate `p = partition` on files."""

    def predicate(batch: Any) -> Any:
        return pa.array([dict(values).get("p") == partition for values in batch.column("partition_values").to_pylist()])

    return predicate


def create_table(storage: Storage, configuration: Mapping[str, str] | None = None) -> None:
    """An empty table, partitioned by `p`, and two files in it."""
    metadata = Metadata(
        id="interleaved",
        schema_string=SCHEMA.to_json(),
        partition_columns=("p",),
        configuration=dict(configuration or {}),
    )
    transaction = Transaction.create(storage, CommitDescription(name="CREATE TABLE", operation=TableOperation.METADATA))
    transaction.stage(metadata, choose_protocol("t", None, metadata))
    for partition in PARTITIONS:
        transaction.stage(_to_add(file_of(partition, "base", frozenset({f"base{partition}"}))))
    transaction.commit()


def table_in_memory(**configuration: str) -> DictStorage:
    """Like :func:`create_table` in a new storage; a copy, since thousands of histories begin with it."""
    made = _made_table(tuple(configuration.items()))
    copy = DictStorage()
    copy.files, copy.now_ms = dict(made.files), made.now_ms
    return copy


@cache
def _made_table(configuration: tuple[tuple[str, str], ...]) -> DictStorage:
    storage = DictStorage()
    create_table(storage, {f"delta.{key}": value for key, value in configuration})
    return storage


def run_op(storage: Storage, op: Op, who: str, step: Step, after: Callable[[Committed], None] | None = None) -> Any:
    """Runs one statement: read, stage, commit, and post-commit work. `step` is called before each."""
    step()
    snapshot = Snapshot.load(storage)
    transaction = begin(snapshot, op, who)
    step()
    committed = transaction.commit()
    if after is not None:
        step()
        after(committed)
    return committed


def begin(snapshot: Snapshot, op: Op, who: str) -> Transaction:
    """Returns the transaction with everything read and staged."""
    description = CommitDescription(
        name=op.name,
        operation=op.operation,
        exclusive=op.exclusive,
        changes_data=not op.rearranges,
        user_metadata=json.dumps({"op": op.name, "who": who}),
    )
    transaction = Transaction.on(snapshot, description, txn_id=f"txn-{who}")
    if op.reads == "*":
        transaction.read_whole_table()
    elif op.reads is not None:
        transaction.read(partition_is(op.reads))
    if op.reads_app is not None:
        transaction.last_version_of(op.reads_app)
    effect = op.derive(state_of(snapshot), who)
    transaction.stage(*(replace(_to_add(file), data_change=op.data_change) for file in sorted_files(effect.adds)))
    if effect.removes:
        paths = pa.array([file.path for file in effect.removes])
        transaction.stage_removes(
            snapshot.files.filter(pc.is_in(snapshot.files.column("path"), value_set=paths)), data_change=op.data_change
        )
    if effect.settings:
        configuration = {**snapshot.metadata.configuration, **dict(effect.settings)}
        transaction.stage(replace(snapshot.metadata, configuration=configuration))
    if effect.application:
        transaction.stage(SetTransaction(app_id=effect.application[0], version=effect.application[1]))
    return transaction


def state_of(snapshot: Snapshot) -> State:
    return State(
        files=frozenset(parse_file(path) for path in snapshot.files.column("path").to_pylist()),
        configuration=tuple(sorted(snapshot.metadata.configuration.items())),
        applications=tuple(sorted((txn.app_id, txn.version) for txn in snapshot.set_transactions.values())),
    )


def sorted_files(files: frozenset[File]) -> list[File]:
    return sorted(files, key=lambda file: file.path)


def _to_add(file: File) -> Add:
    return Add(
        path=file.path,
        partition_values={"p": file.partition},
        size=len(file.path),
        modification_time=1,
        stats='{"numRecords":1}',
    )


# --- The checker -----------------------------------------------------------------------------------------------------


def check_history(storage: Storage, ops: Mapping[str, Op], results: Mapping[str, Any]) -> None:
    """Asserts that the log is complete, and that its order explains every writer's result.

    `ops` and `results` by writer; a result is `Committed`, a `ConcurrentModification`, or None for a crashed writer
    with an unknown result.
    """
    versions = _versions(storage)
    assert versions == list(range(len(versions))), f"versions are not contiguous: {versions}"
    state = State()
    committed: dict[str, int] = {}
    for version in versions:
        effect, who = _read_effect(storage, version)
        before, state = state, _apply(state, effect)
        if who is None:
            continue
        assert who not in committed, f"{who} committed twice: {committed[who]} and {version}"
        committed[who] = version
        _check_explained(ops[who], who, before, effect)
    for who, result in results.items():
        match result:
            case Committed(version=version):
                assert committed.get(who) == version, f"{who} was told {version}, the log says {committed.get(who)}"
            case ConcurrentModification():
                assert who not in committed, f"{who} was told of a conflict, but committed {committed[who]}"
            case None:
                pass
            case _:
                raise AssertionError(f"{who} ended with {result!r}") from result
    snapshot = Snapshot.load(storage)
    assert snapshot.version == versions[-1]
    assert state_of(snapshot).files == state.files, "replay differs from the model"


def _check_explained(op: Op, who: str, before: State, effect: Effect) -> None:
    if op.rearranges:
        rows = [sorted(row for file in files for row in file.rows) for files in (effect.adds, effect.removes)]
        assert rows[0] == rows[1], f"{who} changed rows while rearranging"
        return
    derived = op.derive(before, who)
    assert (derived.adds, derived.removes) == (effect.adds, effect.removes), f"{who} read what was not there"
    assert derived.application == effect.application, f"{who} committed for its application without need"


def _apply(state: State, effect: Effect) -> State:
    assert effect.removes <= state.files, "a file was removed that was not there"
    remaining = state.files - effect.removes
    assert not effect.adds & remaining, "a file was added twice"
    applications = dict(state.applications)
    if effect.application:
        applications[effect.application[0]] = effect.application[1]
    return State(
        files=remaining | effect.adds,
        configuration=tuple(sorted({**dict(state.configuration), **dict(effect.settings)}.items())),
        applications=tuple(sorted(applications.items())),
    )


def _versions(storage: Storage) -> list[int]:
    paths = map(parse_log_path, storage.list_names(LOG_DIR))
    return sorted(path.version for path in paths if path is not None and path.kind is LogFileKind.COMMIT)


def _read_effect(storage: Storage, version: int) -> tuple[Effect, str | None]:
    """Returns a version's effect, read without the log replay under test, and its writer."""
    name = f"{LOG_DIR}/{commit_name(version)}"
    values = list(parse_json_stream(storage.read_bytes(name), name))
    assert list(values[0]) == ["commitInfo"], "commitInfo must come first"
    bodies: dict[str, list[Any]] = {}
    for value in values:
        assert parse_action(value) is not None
        for kind, body in value.items():
            bodies.setdefault(kind, []).append(body)
    note = bodies["commitInfo"][0].get("userMetadata")
    metadata = bodies.get("metaData", [])
    application = [(txn["appId"], txn["version"]) for txn in bodies.get("txn", [])]
    effect = Effect(
        adds=frozenset(parse_file(add["path"]) for add in bodies.get("add", [])),
        removes=frozenset(parse_file(remove["path"]) for remove in bodies.get("remove", [])),
        settings=tuple(metadata[0]["configuration"].items()) if metadata else (),
        application=application[0] if application else None,
    )
    return effect, json.loads(note)["who"] if note else None
