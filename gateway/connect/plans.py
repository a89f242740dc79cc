"""A client's plan as a statement: SQL text, or a protobuf relation with inputs.

The protobuf message is walked by its descriptors. Each leaf that names something is replaced by the named table
`gateway_input_N`, and its SQL text becomes an input of the plan, which is bound and authorized as any query. Kinds of
relations and expressions are an allow-list. Kinds that run a client's code, that belong to features of Spark without
governance, or that are newer than this server are rejected with an error that names them, as are unknown fields.

A plan that is one SQL relation, or one table, is not sent to Spark's planner: it is its SQL text.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import zstandard
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid, ConnectPlanUnreadable
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.pipeline import parse_statement
from engine.runtime.dataframe import DataFramePlan, PlanInput
from engine.runtime.parameters import Parameter
from engine.sql.query.dataframes import dataframe_query
from engine.sql.query.values import Query as ParsedQuery
from gateway.connect.delta_tables import delta_input
from gateway.connect.inputs import changes_input, read_input, sql_input
from gateway.connect.proto import pb2

INPUT_PREFIX = "gateway_input_"
PLAN_BYTES_MAX = 128 << 20
_VARIABLE = "${"
_DEPTH_MAX = 1000
_INPUTS_MAX = 1000

_FUNCTIONS = "Use SQL functions, or a query."
_CACHE = "Large local data is sent within the plan."
# Kinds without governance, by the names of their fields: the feature, and the alternative to it.
_REFUSED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "map_partitions": ("mapInPandas or mapInArrow", _FUNCTIONS),
        "group_map": ("applyInPandas", _FUNCTIONS),
        "co_group_map": ("cogroup", _FUNCTIONS),
        "apply_in_pandas_with_state": ("applyInPandasWithState", _FUNCTIONS),
        "common_inline_user_defined_table_function": ("A Python table function", _FUNCTIONS),
        "common_inline_user_defined_function": ("A user-defined function of the client", _FUNCTIONS),
        "typed_aggregate_expression": ("A Scala aggregate function", _FUNCTIONS),
        "common_inline_user_defined_data_source": ("A Python data source", "Read Delta and Iceberg tables."),
        "ml_relation": ("Spark ML", "Run it on a Spark cluster of your own."),
        "extension": ("An extension of the protocol", "Use SQL statements."),
        "with_watermark": ("Structured Streaming", ""),
        "cached_local_relation": ("A cached local relation", _CACHE),
        "chunked_cached_local_relation": ("A cached local relation", _CACHE),
        "cached_remote_relation": ("A checkpoint", "Write a table, and read it."),
        "nearest_by_join": ("nearestByJoin", ""),
        "parse": ("Parsing of CSV or JSON rows", "Use the functions from_csv and from_json."),
        "zip": ("zip", "Use join."),
        "show_string": ("show() within another relation", ""),
        "html_string": ("HTML output within another relation", ""),
        "catalog": ("A call of the catalog within another relation", ""),
        "unknown": ("A relation of an unknown kind", ""),
    }
)
_RELATIONS = frozenset(
    "read project filter join set_op sort limit aggregate sql local_relation sample offset deduplicate range "
    "subquery_alias repartition to_df with_columns_renamed drop tail with_columns hint unpivot to_schema "
    "repartition_by_expression as_of_join with_relations unresolved_table_valued_function lateral_join "
    "relation_changes fill_na drop_na replace summary describe sample_by collect_metrics".split()
)
_EXPRESSIONS = frozenset(
    "literal unresolved_attribute unresolved_function expression_string unresolved_star alias cast unresolved_regex "
    "sort_order lambda_function window unresolved_extract_value update_fields unresolved_named_lambda_variable "
    "call_function named_argument_expression subquery_expression".split()
)
_KINDS = {
    "spark.connect.Relation": ("rel_type", _RELATIONS),
    "spark.connect.Expression": ("expr_type", _EXPRESSIONS),
}
_ORIGINS = ("origin", "source_info")


@dataclass(frozen=True, slots=True)
class Query:
    """A statement for the pipeline: a text with parameters, or a plan with inputs."""

    statement: str | DataFramePlan
    parameters: tuple[Parameter, ...] = ()


def operation_of(plan: pb2.Plan) -> pb2.Relation | pb2.Command:
    """Returns a plan's relation or command, decompressed. Raises `ConnectPlanUnreadable`."""
    match plan.WhichOneof("op_type"):
        case "root":
            return plan.root
        case "command":
            return plan.command
        case "compressed_operation":
            return _decompress(plan.compressed_operation)
        case _:  # a member of a protobuf oneof, or none
            raise ConnectPlanInvalid("it has neither a relation nor a command")


def query_of(relation: pb2.Relation) -> Query:
    """Returns the statement that answers a relation's rows."""
    leaf = _leaf_input(relation)
    if leaf is not None and not leaf.frames:
        _ensure_known(relation)
        return Query(leaf.text, leaf.parameters)
    return Query(plan_of(relation))


def described_query(relation: pb2.Relation) -> ParsedQuery:
    """Returns a relation as a statement's inner query, for statements that do not run it."""
    leaf = _leaf_input(relation)
    if leaf is not None and not (leaf.frames or leaf.parameters) and is_query(leaf.text):
        _ensure_known(relation)
        parsed = parse_statement(leaf.text)
        assert isinstance(parsed, ParsedQuery)
        return parsed
    return dataframe_query(plan_of(relation))


def observes(message: Message) -> bool:
    """Returns True for a plan with metrics of `observe`."""
    if isinstance(message, pb2.Relation) and message.HasField("collect_metrics"):
        return True
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        if any(map(observes, value if descriptor.is_repeated else (value,))):
            return True
    return False


def is_query(text: str) -> bool:
    """Returns True for a query that can be described before it runs. Raises the error of a text that is no statement.

    Hive's variables in a text have the values of the session, and a text that is too long is rejected by it.
    """
    if len(text) > TEXT_LENGTH_MAX or _VARIABLE in text:
        return False
    return isinstance(parse_statement(text), ParsedQuery)


def plan_of(relation: pb2.Relation) -> DataFramePlan:
    """Returns a relation as a plan with inputs."""
    replaced = pb2.Relation()
    replaced.CopyFrom(relation)
    walk = _Walk()
    walk.replace_leaves(replaced, 0)
    return DataFramePlan(
        plan=replaced.SerializeToString(),
        inputs=tuple(walk.inputs),
        description=f"DataFrame: {_describe(relation)}",
        expressions=tuple(walk.expressions),
    )


def _leaf_input(relation: pb2.Relation) -> PlanInput | None:
    """Returns a leaf's input, without its name; None for another relation."""
    match relation.WhichOneof("rel_type"):
        case "read":
            found = read_input(relation.read)
        case "sql":
            found = sql_input(relation.sql)
        case "relation_changes":
            found = changes_input(relation.relation_changes)
        case "extension" if (delta := delta_input(relation.extension)) is not None:
            found = delta
        case "with_relations" if relation.with_relations.root.HasField("sql"):
            found = sql_input(relation.with_relations.root.sql)
            frames = tuple(map(_frame, relation.with_relations.references))
            return PlanInput(name="", text=found.text, parameters=found.parameters, frames=frames)
        case _:  # a member of a protobuf oneof, or none
            return None
    return PlanInput(name="", text=found.text, parameters=found.parameters, alias=found.alias)


def _frame(reference: pb2.Relation) -> tuple[str, DataFramePlan]:
    """Returns a DataFrame that a text may name."""
    _ensure_known(reference)
    if reference.WhichOneof("rel_type") != "subquery_alias":
        raise ConnectPlanInvalid("an argument of a SQL text has no name")
    return reference.subquery_alias.alias, plan_of(reference.subquery_alias.input)


def _decompress(compressed: pb2.Plan.CompressedOperation) -> pb2.Relation | pb2.Command:
    kinds = {
        pb2.Plan.CompressedOperation.OP_TYPE_RELATION: pb2.Relation,
        pb2.Plan.CompressedOperation.OP_TYPE_COMMAND: pb2.Command,
    }
    kind = kinds.get(compressed.op_type)
    if kind is None or compressed.compression_codec != pb2.COMPRESSION_CODEC_ZSTD:
        raise ConnectPlanUnreadable("its compression is unknown")
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(compressed.data))
        data = reader.read(PLAN_BYTES_MAX + 1)
        if len(data) > PLAN_BYTES_MAX:
            raise ConnectPlanUnreadable(f"it has more than {PLAN_BYTES_MAX} bytes")
        return kind.FromString(data)
    except (zstandard.ZstdError, DecodeError) as error:
        raise ConnectPlanUnreadable(str(error)) from error


@dataclass(slots=True)
class _Walk:
    """Checks a relation, replaces its leaves by inputs, and collects the SQL texts of its expressions."""

    inputs: list[PlanInput] = field(default_factory=list)
    expressions: list[str] = field(default_factory=list)

    def replace_leaves(self, message: Message, depth: int) -> None:
        if depth > _DEPTH_MAX:
            raise ConnectPlanInvalid(f"it has more than {_DEPTH_MAX} levels")
        _ensure_known(message)
        if isinstance(message, pb2.Relation) and (found := _leaf_input(message)) is not None:
            self._replace(message, found)
            return
        if isinstance(message, pb2.Expression) and message.HasField("expression_string"):
            self.expressions.append(message.expression_string.expression)
        for descriptor, value in message.ListFields():
            if descriptor.message_type is None:
                continue
            if descriptor.message_type.GetOptions().map_entry:
                for inner in value.values():
                    if isinstance(inner, Message):
                        self.replace_leaves(inner, depth + 1)
                continue
            for inner in value if descriptor.is_repeated else (value,):
                self.replace_leaves(inner, depth + 1)

    def _replace(self, relation: pb2.Relation, found: PlanInput) -> None:
        if len(self.inputs) == _INPUTS_MAX:
            raise ConnectPlanInvalid(f"it has more than {_INPUTS_MAX} named relations")
        # Assigning the member of the oneof removes the leaf; the id of its DataFrame stays in `common`.
        name = f"{INPUT_PREFIX}{len(self.inputs)}"
        relation.read.CopyFrom(pb2.Read(named_table=pb2.Read.NamedTable(unparsed_identifier=name)))
        self.inputs.append(replace(found, name=name))


def _ensure_known(message: Message) -> None:
    """Raises an error for a kind that is not allowed, and for fields of a newer protocol; removes call sites."""
    name = message.DESCRIPTOR.full_name
    if name == "google.protobuf.Any":
        raise ConnectFeatureNotSupported("An extension of the protocol", "Use SQL statements.")
    if len(UnknownFieldSet(message)):
        raise ConnectFeatureNotSupported(f"A field of {name} that this server does not know")
    if name in ("spark.connect.RelationCommon", "spark.connect.ExpressionCommon"):
        for origin in _ORIGINS:
            if origin in message.DESCRIPTOR.fields_by_name:
                message.ClearField(origin)
    if name not in _KINDS:
        return
    oneof, allowed = _KINDS[name]
    kind = message.WhichOneof(oneof)
    if kind is None:
        raise ConnectPlanInvalid(f"a message {name} is empty, or of a newer protocol")
    if isinstance(message, pb2.Relation) and kind == "extension" and delta_input(message.extension) is not None:
        return
    if kind not in allowed:
        raise ConnectFeatureNotSupported(*_REFUSED.get(kind, (f"A plan with {kind}", "")))


def _describe(relation: pb2.Relation, depth: int = 0) -> str:
    """Returns a relation's outline for the history, without values: `aggregate(filter(read))`."""
    kind = relation.WhichOneof("rel_type") or "empty"
    found = getattr(relation, kind, None)
    inner = (
        []
        if found is None or depth > 20
        else [
            _describe(one, depth + 1)
            for descriptor, value in found.ListFields()
            if descriptor.message_type is not None and descriptor.message_type.full_name == "spark.connect.Relation"
            for one in (value if descriptor.is_repeated else (value,))
        ]
    )
    if kind == "read" and relation.read.HasField("named_table"):
        return str(relation.read.named_table.unparsed_identifier)
    return f"{kind}({', '.join(inner)})" if inner else kind
