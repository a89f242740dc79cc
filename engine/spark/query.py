"""Runs a plan in one client's Spark session: one call to Java for each statement.

The request is one JSON text (and one file, for data file lists), the response one frame; so a statement costs one round
trip, and leaves no state in Python. `SELECT 1` takes 5 ms warm on two busy cores, against 31 ms for `spark.sql("SELECT
1").toArrow()`.

Cancellation: the callback runs on the canceling thread. It sets a flag, which the statement checks between its phases,
and cancels its jobs, including future ones; so the timing does not matter.

If Spark is lost, its running statements fail; the session's next statement finds the restarted one, with the session's
settings (`supervisor.py`). If a healthy Spark was ended because a statement could not be stopped, the calls of all
other statements are repeated in the next Spark: a call returns rows, or writes data files that no log names yet, so the
lost one has changed nothing. Commits are made in Python, after the call has returned, and are not part of it. Only rows
that were streamed to a client cannot be withdrawn.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from catalog.conditions import SparkRestarting
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.errors.disk_errors import storage_error
from engine.planning.plans.expression_checks import Examination
from engine.planning.plans.file_writes import WriteTarget, WrittenFile, read_written, target_request
from engine.planning.plans.lineage import LineageReader, lineage_of_reading, lineage_of_result, lineage_of_write
from engine.planning.plans.reads import QueryColumn, ReadPlan, RowScan, ViewScan
from engine.runtime.parameters import MARKER, Parameter, named_by_position
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.results import ResultStream, string_rows
from engine.runtime.variables import Assignment, RowValues, Scope, VisibleVariables
from engine.spark.file_lists import DriverCallbacks, given_request
from engine.spark.frame import read_columns, read_examination, read_header, read_result
from engine.spark.process import SparkProcess
from engine.spark.scan import scan_requests
from engine.spark.schema import FIELDS, AssignmentJson, ParameterJson, StatementJson, VariablesJson
from engine.spark.spark_errors import Translation, restore_names, translate_errors
from engine.spark.streaming_result import StreamingResult
from engine.spark.supervisor import Supervisor
from engine.spool.spool import Spool
from engine.sql.parameters import literal_text
from engine.sql.query.bodies import BODY_CALL
from engine.sql.query.source_text import slice_text
from engine.sql.query.splice import generated_aliases
from engine.sql.query.values import ExplainMode
from engine.tables.scan import Scan

# The number of attempts for a call if Spark ends during each one; and if its process is killed, which may be because of
# the statement: by the operating system for its memory, or by a crash.
_RUNS_MAX = 4
_KILLED_RUNS_MAX = 2

A = TypeVar("A")
_NO_TRANSLATION = Translation()
R = TypeVar("R")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Call(Generic[A, R]):
    """A request to Java's session, with its response reader."""

    make: Callable[[Any, str], A]
    read: Callable[[A], R]
    # Receives the statement's lineage, if requested and if the call may have one.
    lineage: LineageReader | None = None
    streaming: StreamingResult | None = None


def _after_rules(request: StatementRequest, read: Callable[[str], R]) -> Callable[[str], R]:
    """Returns the reader of a response that begins with a line with the rules that changed a plan."""

    def read_both(answer: str) -> R:
        rules, _, rest = answer.partition("\n")
        request.profile.add_rules(json.loads(rules))
        return read(rest)

    return read_both


@dataclass(frozen=True, slots=True, eq=False)
class SessionFacts:
    """A session's state besides its statements: Spark settings, and the current catalog and schema.

    Each change creates another object, so an unchanged object has been in force all the time.
    """

    settings: Mapping[str, str]
    current: tuple[str, str] | None

    def is_unchanged(self, later: SessionFacts) -> bool:
        """Returns whether nothing was changed between the two, not even temporarily."""
        return self.settings is later.settings and self.current is later.current


@dataclass(frozen=True, slots=True)
class _Opened:
    """A Java session, and the Spark run that it belongs to."""

    process: SparkProcess
    session: Any


class ExecSession:
    """One client's Spark session. Statements may run on several threads at the same time.

    Its settings and current schema are stored here. Java's session is created on first use, and created again with the
    same settings after Spark was restarted. Every method that needs it raises `SparkRestarting` if Spark is lost during
    the call, or if it is unavailable and does not return in time.
    """

    def __init__(
        self, spark: Supervisor[SparkProcess], results: Spool, given: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Results are stored in `results` if a statement names no other spool. `given` are initial settings for all
        sessions.
        """
        self._spark, self._results, self._given = spark, results, given
        # Guards the fields below except `_current`; held for short calls to Java.
        self._lock = threading.RLock()
        self._settings: Mapping[str, str] = MappingProxyType({})
        self._current: tuple[str, str] | None = None
        # The current schema in the opened session.
        self._current_objects: tuple[str, str] | None = None
        self._opened: _Opened | None = None

    @property
    def facts(self) -> SessionFacts:
        """Returns the current facts. Waits for a change in progress."""
        with self._lock:
            return SessionFacts(self._settings, self._current)

    @property
    def setting_names(self) -> frozenset[str]:
        """Returns the Spark settings with values from the operator or the session."""
        return frozenset(self._given.keys() | self.facts.settings.keys())

    def run_query(
        self, plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        """Runs `plan` to its end and returns its rows.

        Raises `StatementCancelled`, `StatementTimedOut`, `ResultTooLarge`, the guard's errors
        (`engine/spark/spark_errors.py`), or `SparkFailure` with Spark's own condition.
        """
        run = _Call(lambda session, data: session.run(data), self._read_result(request), lineage_of_reading)
        return self._call(run, plan, with_changes(request, rows_wanted=None, bytes_wanted=None), parameters)

    def stream_query(
        self, plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        """Runs `plan` like :meth:`run_query`, but calls `request.on_rows` with the result as soon as it has readable
        rows, and may omit rows beyond the request's limit.

        An error after that is also raised by the result's batches.
        """
        if request.on_rows is None:
            run = _Call(lambda session, data: session.run(data), self._read_result(request), lineage_of_result)
            return self._call(run, plan, request, parameters)
        owner, on_work = request.identity.principal, request.profile.add_work
        result = StreamingResult(request.on_columns, request.on_rows, on_work, self._spool(request), owner)
        run = _Call(lambda session, data: session.run(data), result.complete, lineage_of_result, result)
        return self._call(run, plan, request, parameters)

    def columns_of(
        self, plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> list[QueryColumn]:
        """Returns the result columns of `plan`; nothing runs."""
        return self._call(_Call(_describe, read_columns), plan, request, parameters)

    def examine(self, plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter] = ()) -> Examination:
        """Returns the column types of `plan`, and its dependencies; nothing runs."""
        return self._call(_Call(_describe, read_examination), plan, request, parameters)

    def variables_read(self, plan: ReadPlan, request: StatementRequest) -> tuple[str, ...]:
        """Returns the names of the variables that `plan` reads; nothing runs."""
        return self._call(_Call(_describe, read_variables), plan, request, ())

    def values(self, plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter] = ()) -> Assignment:
        """Runs `plan`, whose text is a query, DECLARE or SET VARIABLE, and returns values in a form that Spark accepts
        back.

        Raises the errors of :meth:`run_query`.
        """
        read = _after_rules(request, read_assignment)
        run = _Call(lambda session, data: session.values(data), read, lineage_of_reading)
        return self._call(run, plan, request, parameters)

    def describe(
        self,
        plan: ReadPlan,
        request: StatementRequest,
        parameters: Sequence[Parameter] = (),
        *,
        as_json: bool = False,
    ) -> ResultStream:
        """Returns the columns of `plan` as rows with name, type and comment, or its schema as JSON; nothing runs."""
        columns = self.columns_of(plan, request, parameters)
        if as_json:
            return string_rows(("json_schema",), [(json.dumps({"type": "struct", "fields": [*map(_field, columns)]}),)])
        rows = [(column.name, column.sql_type, column.comment) for column in columns]
        return string_rows(("col_name", "data_type", "comment"), rows)

    def explain(
        self,
        plan: ReadPlan,
        mode: ExplainMode,
        note: str,
        request: StatementRequest,
        parameters: Sequence[Parameter] = (),
    ) -> ResultStream:
        """Returns Spark's plan, the files that it would read from each table, and `note`, as one text cell; nothing
        runs.
        """
        labels = _labels(plan)
        explain = _Call(
            lambda session, data: session.explain(data, mode.value),
            _after_rules(request, lambda answer: restore_names(answer, labels)),
        )
        unlimited = with_changes(request, scan_bytes_max=0)  # no data is read
        text = self._call(explain, plan, unlimited, parameters)
        lines = "\n".join((*request.profile.lines, note))
        rules = ", ".join(request.profile.rules) or "none"
        return string_rows(("plan",), [(f"{text}\n== Tables ==\n{lines}\n\n== Gateway Rules ==\n{rules}\n",)])

    def write_files(
        self,
        plan: ReadPlan,
        target: WriteTarget,
        request: StatementRequest,
        parameters: Sequence[Parameter] = (),
    ) -> tuple[WrittenFile, ...]:
        """Writes the rows of `plan` as data files; after the errors of :meth:`run_query`, no file remains."""
        write_request = target_request(target)
        write = _Call(
            lambda session, data: session.write(data, write_request),
            _after_rules(request, read_written),
            lineage_of_write(target),
        )
        return self._call(write, plan, request, parameters)

    def check_write(
        self,
        plan: ReadPlan,
        target: WriteTarget,
        request: StatementRequest,
        parameters: Sequence[Parameter] = (),
    ) -> None:
        """Raises the errors of :meth:`write_files` that do not depend on rows; nothing runs."""
        write_request = target_request(target)
        check = _Call(lambda session, data: session.checkWrite(data, write_request), lambda answer: None)
        self._call(check, plan, request, parameters)

    def set_setting(self, key: str, value: str | None) -> None:
        """Sets a Spark setting for this session; None resets it to its default. Raises `SparkFailure`.

        If Spark is unavailable, the setting is applied when it returns.
        """
        with self._lock:
            before = self._settings
            # A new mapping for each change: `SessionFacts.is_unchanged` compares by
            # identity, so that a value that was set and reset counts as changed.
            self._settings = {**before, key: value} if value is not None else _without(before, key)
            try:
                self._tell(lambda session: session.set(key, value) if value is not None else session.unset(key))
            except SqlError:
                # Spark rejected the value (for example an invalid number), so the session
                # must not send it again after a restart.
                self._settings = before
                raise

    def get_setting(self, key: str) -> str | None:
        """Returns a Spark setting's value or default; None if it has neither."""
        while True:
            with self._lock:
                opened = self._open()
                try:
                    with _translate_failures(opened.process):
                        value: str | None = opened.session.get(key)
                        return value
                except SparkRestarting as error:
                    if not self._may_run_again(opened.process, error):
                        raise

    def set_current_schema(self, catalog: str, schema: str) -> None:
        """Sets the result of `current_catalog()` and `current_schema()`. Java receives it at its next use."""
        self._current = catalog, schema

    def close(self) -> None:
        """Closes the session; does not wait, not even for a hanging call."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.process.detach(opened.session)

    def _spool(self, request: StatementRequest) -> Spool:
        return request.spool or self._results

    def _read_result(self, request: StatementRequest) -> Callable[[bytes], ResultStream]:
        owner, on_work = request.identity.principal, request.profile.add_work
        return partial(read_result, spool=self._spool(request), owner=owner, on_work=on_work)

    def _open(self, cancel: CancelToken | None = None) -> _Opened:
        """Returns the session in the running Spark."""
        while True:
            process = self._spark.take(cancel)
            try:
                return self._open_in(process)
            except SparkRestarting:  # no statement has caused it
                if process.illness is None and not self._spark.was_condemned(process):
                    raise

    def _open_in(self, process: SparkProcess) -> _Opened:
        with self._lock:
            if self._opened is None or self._opened.process is not process:
                with _translate_failures(process):
                    session = process.driver.openSession()
                    for key, value in self._settings.items():
                        session.set(key, value)
                self._opened, self._current_objects = _Opened(process, session), None
            opened, current = self._opened, self._current
            # Sent only if it changed: a call to Java is a round trip, and most statements
            # run in one schema.
            if current is not None and current != self._current_objects:
                with _translate_failures(process):
                    opened.session.setCurrentSchema(*current)
                self._current_objects = current
            return opened

    def _tell(self, change: Callable[[Any], None]) -> None:
        """Applies a change to an existing Java session; a later session is created with the change."""
        if self._opened is None and self._spark.unready_reason is None:
            with suppress(SparkRestarting):
                self._open()
        elif self._opened is not None and self._spark.unready_reason is None:
            opened = self._opened
            with suppress(SparkRestarting), _translate_failures(opened.process):
                change(opened.session)

    def _call(self, call: _Call[A, R], plan: ReadPlan, request: StatementRequest, parameters: Sequence[Parameter]) -> R:
        """Makes the call, and repeats it in the next Spark if this one was ended from outside."""
        runs = kills = 0
        while True:
            opened, runs = self._open(request.cancel), runs + 1
            try:
                return self._call_once(opened, call, plan, request, parameters)
            except BaseException as error:
                kills += opened.process.was_killed
                if not self._may_run_again(opened.process, error) or runs == _RUNS_MAX or kills == _KILLED_RUNS_MAX:
                    if call.streaming is not None:
                        call.streaming.fail(error)
                    raise
                logger.warning("statement %s runs again in the next Spark: %s", request.statement_id, error)

    def _may_run_again(self, process: SparkProcess, error: BaseException) -> bool:
        """Returns True if `error` is the end of a process that the statement has probably not caused."""
        return isinstance(error, SparkRestarting) and (process.was_killed or self._spark.was_condemned(process))

    def _call_once(
        self,
        opened: _Opened,
        call: _Call[A, R],
        plan: ReadPlan,
        request: StatementRequest,
        parameters: Sequence[Parameter],
    ) -> R:
        disk = self._spool(request).reservation(request.identity.principal)
        process, session, ended = opened.process, opened.session, threading.Event()

        def cancel() -> None:
            # A cancellation that arrives after the end would otherwise stop the next
            # statement with this id's jobs, or fail on a closed session.
            if not ended.is_set():
                process.cancel(session, request.statement_id)

        request.cancel.on_cancel(cancel)
        try:
            with (
                temporary_folder(process.spool_dir / request.statement_id) as folder,
                _prepare_another_run(call.streaming),
                process.file_lists.serve(request, plan, call.streaming, disk) as callbacks,
                process.watch_tasks(request),
                _raise_callback_failure(callbacks),
                _translate_failures(process, _translation(plan, request)),
            ):
                lineage = call.lineage if request.on_lineage is not None else None
                data = _request(plan, request, parameters, folder)
                data["announces_rows"] = call.streaming is not None
                data["reports_lineage"] = lineage is not None
                answer = call.make(session, json.dumps(data))
                disk.release()
                if request.on_observed is not None:  # before the reader of a streaming result can see its end
                    _tell_observed(session.observed(request.statement_id), request.on_observed)
                result = call.read(answer)
                request.profile.add_plans(partial(process.executed_plans, request.statement_id), _labels(plan))
                if lineage is not None:
                    _tell_lineage(lineage, session.lineage(request.statement_id), plan, request)
                return result
        except SqlError:
            request.cancel.ensure_live()  # a canceled statement reports only the cancellation
            raise
        finally:
            disk.release()
            ended.set()
            request.cancel.forget(cancel)


@contextmanager
def _prepare_another_run(streaming: StreamingResult | None) -> Iterator[None]:
    """Moves the rows that a reader has out of the statement's directory if Spark is lost."""
    try:
        yield
    except SparkRestarting:
        if streaming is not None:
            streaming.begin_again()
        raise


def _tell_observed(metrics: str | None, on_observed: Callable[[Sequence[bytes]], None]) -> None:
    if metrics is not None:
        on_observed([b64decode(message) for message in json.loads(metrics)])


def _tell_lineage(read: LineageReader, lineage_text: str | None, plan: ReadPlan, request: StatementRequest) -> None:
    if lineage_text is None:
        logger.warning("which columns statement %s read is unknown", request.statement_id)
    elif request.on_lineage is not None:
        request.on_lineage(read(lineage_text, plan.scans))


def _field(column: QueryColumn) -> dict[str, object]:
    """Returns a column as a field of a schema in Spark's JSON."""
    metadata = dict(column.metadata)
    return {"name": column.name, "type": column.json_type, "nullable": column.is_nullable, "metadata": metadata}


def _describe(session: Any, request: str) -> bytes:
    frame: bytes = session.describe(request)
    return frame


def _without(settings: Mapping[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name != key}


@contextmanager
def _translate_failures(process: SparkProcess, translation: Translation = _NO_TRANSLATION) -> Iterator[None]:
    """Translates errors in calls to Java; reports a lost Spark to its supervisor."""
    try:
        with translate_errors(process.gateway.jvm, translation):
            yield
    except SparkRestarting as restarting:
        process.note_restart(restarting)
        raise


@contextmanager
def _raise_callback_failure(callbacks: DriverCallbacks) -> Iterator[None]:
    """Raises the original error if Java failed because a callback failed."""
    try:
        yield
    except SqlError:
        if callbacks.failure is not None:
            raise callbacks.failure from None
        raise


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """Yields a directory for a statement. Canceled tasks that still write no longer find it."""
    # By names: pathlib takes longer than these three calls of the system.
    name, gone = str(folder), f"{folder}.gone"
    try:
        os.mkdir(name)
    except FileNotFoundError:  # system cleanup may have removed its parent
        folder.mkdir(parents=True)
    try:
        yield folder
    except OSError as error:
        if named := storage_error(error):
            raise named from error
        raise
    finally:
        # Renamed first: a task that is being killed fails to create a file there, instead
        # of leaving one behind after the removal.
        os.rename(name, gone)
        try:
            os.rmdir(gone)  # most statements leave no file, and a check takes longer
        except OSError:
            shutil.rmtree(gone)


def _request(
    plan: ReadPlan,
    request: StatementRequest,
    parameters: Sequence[Parameter],
    folder: Path,
) -> StatementJson:
    """Returns the request that `StatementRequest.java` reads."""
    # Inlined function bodies may repeat or reorder `?` markers, which Spark counts by their
    # position.
    parameters = named_by_position(parameters) if f":{MARKER}" in plan.text else parameters
    return {
        "id": request.statement_id,
        "principal": request.identity.principal,
        "instant_us": request.instant_us,
        "text": plan.text,
        "scans": scan_requests(plan.scans),
        "views": [_view_request(view) for view in plan.views],
        "given": [given_request(given) for given in plan.given],
        "hidden_relations": list(plan.hidden_relations),
        "parameters": [parameter_request(parameter) for parameter in parameters],
        "variables": variables_request(request.variables),
        "body_call": BODY_CALL,
        "spool": str(folder),
        "result_bytes_max": request.result_bytes_max,
        "rows_wanted": request.rows_wanted,
        "bytes_wanted": request.bytes_wanted,
        "pool": request.pool,
        "announces_rows": False,
        "reports_lineage": False,
    }


def _view_request(view: ViewScan) -> dict[str, Any]:
    parameters = named_by_position(view.parameters) if f":{MARKER}" in view.text else view.parameters
    content = {name: value for name, value in asdict(replace(view, parameters=())).items() if name in FIELDS["VIEW"]}
    if view.frame is not None:
        content["frame"] = {name: value for name, value in content["frame"].items() if name in FIELDS["FRAME"]}
    return content | {"parameters": list(map(parameter_request, parameters))}


def _translation(plan: ReadPlan, request: StatementRequest) -> Translation:
    texts = [(plan.text, "")]
    for view in plan.views:
        place = view.label if view.place is None else view.place
        expressions = view.frame.expressions if view.frame is not None else ()
        texts += [(view.text, place), *((slice_text(text, 0, len(text)), place) for text in expressions)]
    return Translation(_labels(plan), _reportable_texts(plan, request), texts)


def _reportable_texts(plan: ReadPlan, request: StatementRequest) -> frozenset[str] | None:
    """Returns the texts whose errors may be reported in full; None: all."""
    if not request.profile.hides_metrics:
        return None
    if request.profile.hides_texts:
        return frozenset()
    expressions = (text for view in plan.views if view.frame is not None for text in view.frame.expressions)
    return frozenset({plan.text, *(view.text for view in plan.views if view.temporary), *expressions})


def _labels(plan: ReadPlan) -> dict[str, str]:
    """Returns the names in messages for scans and views, by their generated name, or by their directory in Spark's
    spelling.
    """
    named: tuple[Scan | ViewScan | RowScan, ...] = (*plan.scans, *plan.views, *plan.given)
    names = {each.relation: each.label for each in named}
    # Spark's messages show local paths as Hadoop URIs with one slash.
    folders = [(scan, f"file:{scan.table_root}") for scan in plan.scans if scan.table_root.startswith("/")]
    aliases = {alias: names[name] for alias, name in generated_aliases(plan.text).items() if name in names}
    return names | aliases | {folder: scan.label for scan, folder in folders}


def variables_request(visible: VisibleVariables) -> VariablesJson:
    """Returns the request that `SessionVariables.java` reads."""
    return {
        "session": _list_variables(visible.session),
        "scopes": [{"label": scope.label, "variables": _list_variables(scope)} for scope in visible.scopes],
    }


def parameter_request(parameter: Parameter) -> ParameterJson:
    """Returns the request that `ParameterMarkers.java` reads."""
    request: ParameterJson = {"name": parameter.name, "value": parameter.value, "type": parameter.sql_type}
    if parameter.members is not None:
        request["text"] = literal_text(parameter)
    elif parameter.row_value is not None:
        request["row_value"] = asdict(parameter.row_value)
    return request


def read_assignment(answer: str) -> Assignment:
    """Parses Java's JSON answer for SET variables; the folded target names are with their labels."""
    found: AssignmentJson = json.loads(answer)
    names = tuple(field["name"] for field in json.loads(found["row_type"])["fields"])
    return Assignment(
        values=RowValues(found["row_type"], names, tuple(found["rows"])),
        targets=tuple((label, name.lower()) for label, name in found.get("targets", ())),
        default=found["default"],
    )


def read_variables(frame: bytes) -> tuple[str, ...]:
    """Returns the names of the variables that an analyzed query reads."""
    return tuple(read_header(frame)["variables"])


def _list_variables(scope: Scope) -> list[dict[str, Any]]:
    return [asdict(variable) for variable in scope.variables.values()]
