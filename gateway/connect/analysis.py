"""AnalyzePlan: a plan's schema and its other properties, without running it.

A schema is that of DESCRIBE QUERY, and a text of EXPLAIN that of the statement, with the same privileges and
restrictions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TypeAlias

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid, StatementSyntaxError, UnsupportedDataType
from catalog.names import quote
from engine.runtime.statement import Statement
from engine.sql.query.values import ExplainMode
from engine.statements.describe.statement import DescribeQuery
from engine.statements.explain.statement import Explain
from engine.types.schema import StructType, parse_data_type
from engine.types.sql_types import column_sql_type, ddl_type
from gateway.connect.cached_frames import DEFAULT_LEVEL, CachedFrames
from gateway.connect.computed import computed
from gateway.connect.delta_details import with_details
from gateway.connect.input_files import input_files
from gateway.connect.plans import described_query, operation_of, plan_of
from gateway.connect.proto import pb2
from gateway.connect.shown import SHOWN
from gateway.connect.types import json_type, parse_ddl, tree_lines
from gateway.sessions.session import Session
from gateway.sessions.waiting import run_call

_Explain = pb2.AnalyzePlanRequest.Explain
_MODES = {
    _Explain.EXPLAIN_MODE_SIMPLE: ExplainMode.SIMPLE,
    _Explain.EXPLAIN_MODE_EXTENDED: ExplainMode.EXTENDED,
    _Explain.EXPLAIN_MODE_CODEGEN: ExplainMode.CODEGEN,
    _Explain.EXPLAIN_MODE_COST: ExplainMode.COST,
    _Explain.EXPLAIN_MODE_FORMATTED: ExplainMode.FORMATTED,
}
SPARK_VERSION = version("pyspark")
_ORIGINS = ("origin", "source_info")
_CREATES = ("create_table", "create_external_table")
_Response: TypeAlias = pb2.AnalyzePlanResponse


@dataclass(frozen=True, slots=True)
class Analysis:
    """Analyses of plans in a session, for a client that is there while `is_active`."""

    session: Session
    is_active: Callable[[], bool]
    cached: CachedFrames = field(default_factory=CachedFrames)

    def answer(self, request: pb2.AnalyzePlanRequest) -> _Response:
        """Returns the response without the session's ids. Raises the error of the plan's analysis."""
        kind = request.WhichOneof("analyze")
        match kind:
            case "schema":
                return _Response(schema=_Response.Schema(schema=self.schema_of(self._relation(request.schema.plan))))
            case "tree_string":
                schema = self.schema_of(self._relation(request.tree_string.plan))
                level = request.tree_string.level if request.tree_string.HasField("level") else 0
                text = "\n".join(["root", *tree_lines(schema, level)])
                return _Response(tree_string=_Response.TreeString(tree_string=f"{text}\n"))
            case "explain":
                text = self._explain(self._relation(request.explain.plan), request.explain.explain_mode)
                return _Response(explain=_Response.Explain(explain_string=text))
            case "ddl_parse":
                return _Response(ddl_parse=_Response.DDLParse(parsed=_parsed_ddl(request.ddl_parse.ddl_string)))
            case "json_to_ddl":
                text = _json_ddl(request.json_to_ddl.json_string)
                return _Response(json_to_ddl=_Response.JsonToDDL(ddl_string=text))
            case "same_semantics":
                plans = request.same_semantics.target_plan, request.same_semantics.other_plan
                first, second = (_digest(_relation(plan)) for plan in plans)
                return _Response(same_semantics=_Response.SameSemantics(result=first == second))
            case "semantic_hash":
                number = int.from_bytes(_digest(_relation(request.semantic_hash.plan))[:4], signed=True)
                return _Response(semantic_hash=_Response.SemanticHash(result=number))
            case "input_files":
                files = input_files(self._relation(request.input_files.plan), self.session, self.is_active)
                return _Response(input_files=_Response.InputFiles(files=files))
            case "persist" | "unpersist" | "get_storage_level":
                return self._cached(request)
            case _:  # a member of a protobuf oneof, or none
                return _constant(kind, request)

    def _cached(self, request: pb2.AnalyzePlanRequest) -> _Response:
        """Changes or returns the storage level of a DataFrame, which its client reads back; it has no other effect."""
        match request.WhichOneof("analyze"):
            case "persist":
                given = request.persist
                level = given.storage_level if given.HasField("storage_level") else DEFAULT_LEVEL
                self.cached.add(_frame_key(given.relation), level)
                return _Response(persist=_Response.Persist())
            case "unpersist":
                self.cached.remove(_frame_key(request.unpersist.relation))
                return _Response(unpersist=_Response.Unpersist())
            case _:  # "get_storage_level"
                level = self.cached.level(_frame_key(request.get_storage_level.relation))
                return _Response(get_storage_level=_Response.GetStorageLevel(storage_level=level))

    def schema_of(self, relation: pb2.Relation) -> pb2.DataType:
        """Returns a relation's columns as a struct."""
        if (form := relation.WhichOneof("rel_type")) in SHOWN:
            return parse_ddl(f"{form} string")
        if relation.catalog.WhichOneof("cat_type") in _CREATES:  # the DataFrame of `createTable`
            table = getattr(relation.catalog, relation.catalog.WhichOneof("cat_type")).table_name
            named = pb2.Read.NamedTable(unparsed_identifier=table)
            relation = pb2.Relation(read=pb2.Read(named_table=named))
        (row,) = self._run(DescribeQuery(inner=described_query(relation), as_json=True))
        return json_type(json.loads(row["json_schema"]))

    def _relation(self, plan: pb2.Plan) -> pb2.Relation:
        relation = with_details(_relation(plan), self.session, self.is_active)
        return computed(relation, self.session, self.is_active)

    def _explain(self, relation: pb2.Relation, mode: int) -> str:
        statement = Explain(mode=_MODES.get(mode, ExplainMode.SIMPLE), inner=described_query(relation))
        return "\n".join(str(value) for row in self._run(statement) for value in row.values())

    def _run(self, statement: Statement) -> list[dict[str, str]]:
        return list(run_call(self.session, statement, self.is_active).to_pylist())


def _constant(kind: str | None, request: pb2.AnalyzePlanRequest) -> _Response:
    """Returns a response that does not depend on tables."""
    match kind:
        case "is_local":
            relation = _relation(request.is_local.plan).WhichOneof("rel_type")
            return _Response(is_local=_Response.IsLocal(is_local=relation == "local_relation"))
        case "is_streaming":
            return _Response(is_streaming=_Response.IsStreaming(is_streaming=False))
        case "spark_version":
            return _Response(spark_version=_Response.SparkVersion(version=SPARK_VERSION))
        case _:  # a member of a protobuf oneof, or none
            raise ConnectFeatureNotSupported(f"The analysis {kind or 'of a newer client'}")


def _relation(plan: pb2.Plan) -> pb2.Relation:
    found = operation_of(plan)
    if not isinstance(found, pb2.Relation):
        raise ConnectPlanInvalid("a command has no schema")
    return found


def _digest(relation: pb2.Relation) -> bytes:
    """Returns a digest that is equal for plans that differ in the ids of their DataFrames only."""
    plan = plan_of(_without_ids(relation))
    content = hashlib.sha256(plan.plan)
    for one in plan.inputs:
        content.update(repr((one.text, one.parameters, one.frames)).encode())
    return content.digest()


def _frame_key(relation: pb2.Relation) -> bytes:
    """Returns a key that is equal for plans that differ in ids and call sites only; any plan has one."""
    return hashlib.sha256(_without_ids(relation).SerializeToString(deterministic=True)).digest()


def _without_ids(relation: pb2.Relation) -> pb2.Relation:
    found = pb2.Relation()
    found.CopyFrom(relation)
    clear_ids(found)
    return found


def clear_ids(message: pb2.Relation) -> None:
    """Removes the ids of DataFrames and the places in the program, in a message and in all that it contains."""
    for name in ("plan_id", *_ORIGINS):
        if name in message.DESCRIPTOR.fields_by_name:
            message.ClearField(name)
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        for inner in value if descriptor.is_repeated else (value,):
            clear_ids(inner)


def _parsed_ddl(text: str) -> pb2.DataType:
    """Parses a type or columns, for example of `createDataFrame`. Raises `StatementSyntaxError`, as Spark's parser."""
    try:
        return parse_ddl(text)
    except UnsupportedDataType as error:
        reason = f"{text[:200]!r} is neither a data type nor a list of columns"
        raise StatementSyntaxError(
            reason, "Write a type, or columns as in CREATE TABLE: id INT, name STRING."
        ) from error


def _json_ddl(text: str) -> str:
    try:
        found = parse_data_type(json.loads(text))
    except ValueError as error:
        raise ConnectPlanInvalid(f"a type is not JSON: {error}") from error
    if isinstance(found, StructType):
        return ",".join(f"{quote(field.name)} {column_sql_type(field).upper()}" for field in found.fields)
    return ddl_type(found).upper()
