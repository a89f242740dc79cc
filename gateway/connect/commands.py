"""The statements of ExecutePlan: a relation's rows, `spark.sql`, and commands.

A command is the SQL statement with the same meaning. Its source is a temporary view over the DataFrame, which the
session has while the statement runs, so that rights, filters and masks apply as to any query.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from catalog.errors import SqlError
from catalog.names import quote
from engine.runtime.request import with_changes
from engine.runtime.results import BOOLEAN, STRING, ResultStream, empty_result, small_result
from engine.sql.query.dataframes import dataframe_query
from engine.sql.query.source_text import GeneratedText
from engine.statements.describe.statement import DescribeQuery, DescribeTable
from engine.statements.views.statement import CreateView, DropView
from gateway.connect.cached_frames import CachedFrames
from gateway.connect.catalog_calls import CatalogCalls
from gateway.connect.computed import computed
from gateway.connect.delta_details import with_details
from gateway.connect.delta_tables import Change, checked_path, delta_change, delta_command
from gateway.connect.inputs import name_parts, sql_input
from gateway.connect.plans import Query, described_query, is_query, observes, plan_of, query_of
from gateway.connect.proto import pb2
from gateway.connect.replies import Nothing, Reply, Rows, SqlResult
from gateway.connect.rows import last_rows
from gateway.connect.shown import Show, shown_result
from gateway.connect.writes import Write, merge_text, write_of, write_v2_of
from gateway.sessions.operation import Operation
from gateway.sessions.requested import ALL_ROWS, WantedResult
from gateway.sessions.session import Session
from gateway.sessions.waiting import run_call

Started = tuple[Operation, Reply]
_SOURCE = "connect_source_"
_OBSERVE_ADVICE = "Observe rows of a query or of a write."
_NOT_FOUND = ("42P01", "42704", "42P08")


@dataclass(frozen=True, slots=True)
class Statements:
    """Starts statements in a session, for a client that is there while `is_active`."""

    session: Session
    chunk_bytes: int | None
    is_active: Callable[[], bool]
    cached: CachedFrames
    # Metrics of `observe` in the plan, when the operation has ended.
    observed: list[pb2.ExecutePlanResponse.ObservedMetrics] = field(default_factory=list)
    observes: bool = False

    def start(self, operation: pb2.Relation | pb2.Command) -> Started:
        """Starts the operation of a plan. Raises `ConnectFeatureNotSupported`, `ConnectPlanInvalid`, and the errors of
        the steps before the statement.
        """
        operation = with_details(operation, self.session, self.is_active)
        operation = computed(operation, self.session, self.is_active)
        statements = replace(self, observes=observes(operation))
        if isinstance(operation, pb2.Relation):
            return statements._rows(operation)
        return statements._command(operation)

    def _command(self, operation: pb2.Command) -> Started:
        kind = operation.WhichOneof("command_type")
        if self.observes and kind not in ("sql_command", "write_operation", "write_operation_v2"):
            raise ConnectFeatureNotSupported(f"observe in the command {kind}", _OBSERVE_ADVICE)
        match kind:
            case "sql_command":
                return self._sql(operation.sql_command)
            case "create_dataframe_view":
                return self._view(operation.create_dataframe_view)
            case "write_operation":
                return self._write(write_of(operation.write_operation), operation.write_operation.input)
            case "write_operation_v2":
                return self._write(write_v2_of(operation.write_operation_v2), operation.write_operation_v2.input)
            case "merge_into_table_command":
                merge = operation.merge_into_table_command
                return self._with_source(merge.source_table_plan, lambda source: merge_text(merge, source)), Nothing()
            case "extension" if (text := delta_command(operation.extension)) is not None:
                return self.session.execute(text), Nothing()
            case "remove_cached_remote_relation_command":  # there are none
                return self.session.answer("RemoveCachedRemoteRelation", empty_result()), Nothing()
            case None:
                raise ConnectPlanInvalid("its command is empty, or of a newer protocol")
            case _:  # a member of a protobuf oneof, or none
                raise ConnectFeatureNotSupported(*_REFUSED.get(kind, (f"The command {kind}", "")))

    def _rows(self, relation: pb2.Relation) -> Started:
        rows = Rows(self.chunk_bytes)
        match relation.WhichOneof("rel_type"):
            case "show_string" | "html_string" as form:
                given = getattr(relation, form)
                show, query = Show.of(given), query_of(given.input)
                wanted = WantedResult(row_limit=show.rows_wanted)
                shown = Rows(self.chunk_bytes, is_shown=True)
                return self._execute(query, wanted, lambda stream: shown_result(show, stream)), shown
            case "tail":
                number = relation.tail.limit
                return self._execute(query_of(relation.tail.input), WantedResult(), partial(last_rows, number)), rows
            case "catalog":
                stream = CatalogCalls(self.session, self.is_active, self.cached).answer(relation.catalog)
                return self.session.answer(f"Catalog.{relation.catalog.WhichOneof('cat_type')}", stream), rows
            case "extension" if (path := checked_path(relation.extension)) is not None:
                stream = small_result({"is_delta_table": BOOLEAN}, [(self._exists(f"delta.{quote(path)}"),)])
                return self.session.answer("DeltaTable.isDeltaTable", stream), rows
            case "extension" if (change := delta_change(relation.extension)) is not None:
                return self._change(change), rows
            case _:  # a member of a protobuf oneof, or none
                return self._execute(query_of(relation), WantedResult(streams=True)), rows

    def _sql(self, command: pb2.SqlCommand) -> Started:
        relation = command.input
        if not command.HasField("input"):  # a client before Spark 4.0
            fields = ("args", "pos_args", "named_arguments", "pos_arguments")
            relation = pb2.Relation(sql=pb2.SQL(query=command.sql))
            for name in fields:
                getattr(relation.sql, name).MergeFrom(getattr(command, name))
        sql = relation.with_relations.root.sql if relation.HasField("with_relations") else relation.sql
        if is_query(sql.query):
            return self._analyzed(relation)
        if relation.HasField("with_relations"):
            raise ConnectFeatureNotSupported(
                "A DataFrame as an argument of another statement than a query", "Use createOrReplaceTempView."
            )
        found = sql_input(sql)
        query, wanted = Query(found.text, found.parameters), WantedResult(has_counts=True)
        return self._execute(query, wanted, whole), SqlResult(None)

    def _view(self, command: pb2.CreateDataFrameViewCommand) -> Started:
        statement = CreateView(
            view_parts=name_parts(command.name),
            query=dataframe_query(plan := plan_of(command.input)),
            frame=plan,
            temporary=True,
            shared=command.is_global,
            or_replace=command.replace,
        )
        operation = self.session.request(statement)
        operation.on_end(self.session.record)
        return operation, Nothing()

    def _write(self, write: Write, relation: pb2.Relation) -> Started:
        exists = not write.depends_on_existence or self._exists(write.target)
        wanted = WantedResult(settings=write.settings)
        return self._with_source(relation, lambda source: write.text(source, exists=exists), wanted), Nothing()

    def _exists(self, target: str) -> bool:
        try:
            run_call(self.session, DescribeTable(table_parts=name_parts(target)), self.is_active)
        except SqlError as error:
            if error.sqlstate in _NOT_FOUND:
                return False
            raise
        return True

    def _with_source(
        self, relation: pb2.Relation, text_of: Callable[[str], str], wanted: WantedResult = ALL_ROWS
    ) -> Operation:
        """Starts a statement that reads a DataFrame by the name of a temporary view."""
        name = f"{_SOURCE}{uuid.uuid4().hex}"
        plan = replace(plan_of(relation), is_source=True)
        view = CreateView(view_parts=(name,), query=dataframe_query(plan), frame=plan, temporary=True)
        run_call(self.session, view, self.is_active)
        try:
            query = Query(GeneratedText(text_of(quote(name))))
            operation = self._execute(query, wanted, whole if wanted.has_counts else None)
        except BaseException:
            self._drop_view(name)
            raise
        operation.on_end(lambda: self._drop_view(name))
        return operation

    def _drop_view(self, name: str) -> None:
        """Drops a source without waiting; a session that is closed has none."""
        with suppress(SqlError):
            dropped = self.session.request(DropView(view_parts=("system", "session", name), if_exists=True))
            dropped.on_end(lambda: self.session.forget(dropped))

    def _change(self, change: Change) -> Operation:
        """Starts a change by `DeltaTable`, whose client reads the row counts."""
        if change.source is not None:
            if observes(change.source):  # its message is within an extension
                raise ConnectFeatureNotSupported("observe in a DeltaTable's merge", _OBSERVE_ADVICE)
            return self._with_source(
                with_details(change.source, self.session, self.is_active),
                lambda source: f"{change.text}{source}{change.rest}",
                WantedResult(has_counts=True),
            )
        if change.returned is None:
            return self._execute(Query(GeneratedText(change.text)), WantedResult(has_counts=True), whole)
        row = small_result({"identifier": STRING}, [(change.returned,)])
        return self._execute(
            Query(GeneratedText(change.text)), WantedResult(), lambda stream: replace(row, on_close=stream.close)
        )

    def _analyzed(self, relation: pb2.Relation) -> Started:
        """Checks a query, which the client sends again when it needs the rows."""
        statement = DescribeQuery(inner=described_query(relation))
        return self.session.request(statement), SqlResult(relation)

    def _execute(
        self, query: Query, wanted: WantedResult, through: Callable[[ResultStream], ResultStream] | None = None
    ) -> Operation:
        if self.observes:
            wanted = replace(wanted, within=lambda request: with_changes(request, on_observed=self._observe))
        return self.session.execute(query.statement, parameters=query.parameters, wanted=wanted, through=through)

    def _observe(self, metrics: Sequence[bytes]) -> None:
        """Takes the metrics of the last run: a write may run again after a conflict."""
        self.observed[:] = map(pb2.ExecutePlanResponse.ObservedMetrics.FromString, metrics)


def whole(stream: ResultStream) -> ResultStream:
    """Returns the stream, of which all rows are read before the statement counts as ended."""
    return stream


_REFUSED = {
    "register_function": ("Registering a function of the client", "Use CREATE FUNCTION with a SQL body."),
    "register_table_function": ("Registering a table function of the client", "Use CREATE FUNCTION with a SQL body."),
    "register_data_source": ("Registering a data source of the client", ""),
    "write_stream_operation_start": ("Structured Streaming", "Write with INSERT or MERGE."),
    "streaming_query_command": ("Structured Streaming", ""),
    "streaming_query_manager_command": ("Structured Streaming", ""),
    "streaming_query_listener_bus_command": ("Structured Streaming", ""),
    "get_resources_command": ("Reading the resources of the driver", ""),
    "create_resource_profile_command": ("A resource profile", ""),
    "checkpoint_command": ("A checkpoint", "Write a table, and read it."),
    "ml_command": ("Spark ML", "Run it on a Spark cluster of your own."),
    "execute_external_command": ("An external command", ""),
    "pipeline_command": ("Declarative pipelines", ""),
    "extension": ("An extension of the protocol", "Use SQL statements."),
}
