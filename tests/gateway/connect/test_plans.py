"""Plans of clients as statements: inputs, allow-lists and literals."""

from __future__ import annotations

from typing import Any

import pyspark.sql.connect.functions as F
import pyspark.sql.connect.proto as pb2
import pytest
import zstandard
from pyspark.sql.connect.column import Column
from pyspark.sql.connect.plan import SQL, Filter, LogicalPlan, Project, Range, Read
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid, ConnectPlanUnreadable
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.parameters import Parameter
from engine.sql.query.source_text import position_in
from gateway.connect.inputs import name_parts, quote_name
from gateway.connect.literals import parameter_of
from gateway.connect.plans import observes, operation_of, query_of


def _relation(plan: LogicalPlan) -> pb2.Relation:
    found: pb2.Relation = plan.plan(None)
    return found


def _plan(relation: pb2.Relation) -> DataFramePlan:
    statement = query_of(relation).statement
    assert isinstance(statement, DataFramePlan)
    return statement


def _data_source(format_: str, *paths: str, **options: str) -> pb2.Relation:
    source = pb2.Read.DataSource(format=format_, paths=list(paths), options=options)
    return pb2.Relation(read=pb2.Read(data_source=source))


def _table(name: str, **options: str) -> pb2.Relation:
    return pb2.Relation(read=pb2.Read(named_table=pb2.Read.NamedTable(unparsed_identifier=name, options=options)))


def _typed_source(schema: str) -> pb2.Relation:
    relation = _data_source("json", "/l/f.json")
    relation.read.data_source.schema = schema
    return relation


# A `StructType` that a client sends as JSON.
_JSON_SCHEMA = (
    StructType()
    .add("a b", IntegerType(), nullable=False)
    .add("s", StructType().add("x", ArrayType(StringType()), nullable=False))
    .json()
)

READS = {
    "table": (_table("c.s.t"), "SELECT * FROM `c`.`s`.`t`"),
    "quoted name": (_table("`a.b`.`c``d`"), "SELECT * FROM `a.b`.`c``d`"),
    "version": (_table("t", versionAsOf="3"), "SELECT * FROM `t` VERSION AS OF 3"),
    "timestamp": (_table("t", timestampAsOf="2024-01-01"), "SELECT * FROM `t` TIMESTAMP AS OF '2024-01-01'"),
    "feed": (
        _table("c.t", readChangeFeed="true", startingVersion="1", endingTimestamp="2024-01-01"),
        "SELECT * FROM table_changes('`c`.`t`', 1, '2024-01-01')",
    ),
    "path": (_data_source("delta", "/l/t"), "SELECT * FROM delta.`/l/t`"),
    "path with version": (
        _data_source("iceberg", "/l/t", versionasof="7"),
        "SELECT * FROM iceberg.`/l/t` VERSION AS OF 7",
    ),
    "schema in DDL": (
        _typed_source("a INT, b STRING"),
        "SELECT * FROM read_files('/l/f.json', format => 'json', schema => 'a INT, b STRING')",
    ),
    "schema in JSON": (
        _typed_source(_JSON_SCHEMA),
        "SELECT * FROM read_files('/l/f.json', format => 'json', schema => '`a b` int, `s` struct<`x` array<string>>')",
    ),
    "files": (
        _data_source("csv", "/l/it's.csv", header="true"),
        "SELECT * FROM read_files('/l/it\\'s.csv', format => 'csv', header => 'true', inferschema => 'false')",
    ),
    "files with options that the reader ignores": (
        _data_source("json", "/l/a.json", inferSchema="true"),
        "SELECT * FROM read_files('/l/a.json', format => 'json')",
    ),
    "CSV with options of the writer": (
        _data_source("csv", "/l/a.csv", escapeQuotes="true", inferSchema="true"),
        "SELECT * FROM read_files('/l/a.csv', format => 'csv', inferschema => 'true')",
    ),
    "SQL": (pb2.Relation(sql=pb2.SQL(query="SELECT 1")), "SELECT 1"),
}


@pytest.mark.parametrize("case", READS)
def test_one_relation_is_its_sql_text(case: str) -> None:
    relation, text = READS[case]
    assert query_of(relation).statement == text


REJECTED_READS: dict[str, tuple[pb2.Relation, str]] = {
    "unknown option": (_table("t", frobnicate="1"), "frobnicate"),
    "jdbc": (_data_source("jdbc", url="x"), "jdbc"),
    "two paths": (_data_source("csv", "/a", "/b"), "2 paths"),
    "python source": (_data_source("my.Source", "/a"), "my.Source"),
    "stream": (pb2.Relation(read=pb2.Read(is_streaming=True, named_table={"unparsed_identifier": "t"})), "Streaming"),
    "option of files": (_data_source("csv", "/a", **{"a b": "1"}), "a b"),
}


@pytest.mark.parametrize("case", REJECTED_READS)
def test_read_that_is_not_allowed_is_rejected_by_name(case: str) -> None:
    relation, name = REJECTED_READS[case]
    with pytest.raises(ConnectFeatureNotSupported, match=name):
        query_of(relation)


@pytest.mark.parametrize("schema", ["{", '{"type": "struct"}', '{"type": "array"}', '{"fields": 1, "type": "struct"}'])
def test_schema_of_a_reader_that_is_no_json_is_invalid(schema: str) -> None:
    with pytest.raises(ConnectPlanInvalid, match="schema"):
        query_of(_typed_source(schema))


@pytest.mark.parametrize("name", ["", " ", "a.", ".a", "a..b", "a b", "`a", "a;b c", "`a`b"])
def test_text_that_is_no_name_is_rejected(name: str) -> None:
    with pytest.raises(ConnectPlanInvalid, match="is not a name"):
        quote_name(name)


@pytest.mark.parametrize(
    ("name", "parts"), {"a": ("a",), " a . b ": ("a", "b"), "`x y`.z": ("x y", "z"), "a-b.c;d": ("a-b", "c;d")}.items()
)
def test_name_has_parts(name: str, parts: tuple[str, ...]) -> None:
    assert name_parts(name) == parts


def test_name_cannot_leave_its_quotes() -> None:
    assert quote_name("`a``; DROP TABLE t; --`") == "`a``; DROP TABLE t; --`"


def test_leaves_of_a_plan_become_inputs() -> None:
    joined = pb2.Relation()
    joined.join.left.CopyFrom(_relation(Filter(Read("s.t"), F.col("id") > 1)))
    joined.join.right.CopyFrom(_relation(SQL("SELECT :a AS x", named_args={"a": F.lit(7)})))
    plan = _plan(joined)
    assert [(one.name, one.text) for one in plan.inputs] == [
        ("gateway_input_0", "SELECT * FROM `s`.`t`"),
        ("gateway_input_1", "SELECT :a AS x"),
    ]
    assert plan.inputs[1].parameters == (Parameter(value="7", sql_type="int", name="a"),)
    sent = pb2.Relation.FromString(plan.plan)
    assert sent.join.left.filter.input.read.named_table.unparsed_identifier == "gateway_input_0"
    assert sent.join.right.read.named_table.unparsed_identifier == "gateway_input_1"
    assert plan.description == "DataFrame: join(filter(s.t), sql)"


def test_expressions_of_a_plan_are_collected() -> None:
    filtered = _relation(Filter(Read("s.t"), F.expr("id > 1") & F.expr("a IN (2)")))
    assert _plan(filtered).expressions == ("id > 1", "a IN (2)")


def test_errors_have_positions_in_the_texts_of_users_only() -> None:
    for relation, is_generated in ((_table("t"), True), (pb2.Relation(sql=pb2.SQL(query="SELECT 1")), False)):
        text = query_of(relation).statement
        assert isinstance(text, str)
        assert (position_in(text, 7) is None) is is_generated


def test_metrics_of_a_plan_are_found_at_any_depth() -> None:
    observed = pb2.Relation(collect_metrics={"input": _table("t"), "name": "m"})
    reference = pb2.Relation(subquery_alias={"input": observed, "alias": "df"})
    text = pb2.Relation(with_relations={"root": {"sql": {"query": "SELECT * FROM df"}}, "references": [reference]})
    assert observes(observed) and observes(pb2.Relation(limit={"input": observed})) and observes(text)
    assert observes(pb2.Command(write_operation={"input": observed}))
    assert not observes(_table("collect_metrics"))


def test_ids_of_dataframes_survive() -> None:
    relation = _relation(Filter(Read("t"), F.col("id") > 1))
    relation.filter.input.common.plan_id = 42
    sent = pb2.Relation.FromString(_plan(relation).plan)
    assert sent.filter.input.common.plan_id == 42
    assert sent.filter.input.WhichOneof("rel_type") == "read"


def test_name_of_an_input_is_an_ordinary_name() -> None:
    relation = _relation(Filter(Read("gateway_input_1"), F.col("id") > 1))
    assert [one.text for one in _plan(relation).inputs] == ["SELECT * FROM `gateway_input_1`"]


def _kinds(message: str, oneof: str) -> set[str]:
    return {field.name for field in getattr(pb2, message).DESCRIPTOR.oneofs_by_name[oneof].fields}


ALLOWED_RELATIONS = _kinds("Relation", "rel_type") - {
    *("map_partitions", "group_map", "co_group_map", "apply_in_pandas_with_state"),
    *("common_inline_user_defined_table_function", "common_inline_user_defined_data_source", "ml_relation"),
    *("extension", "unknown", "catalog", "show_string", "html_string", "with_watermark", "transpose"),
    *("cached_local_relation", "cached_remote_relation", "chunked_cached_local_relation"),
    *("freq_items", "crosstab", "cov", "corr", "approx_quantile", "nearest_by_join", "parse", "zip"),
}


@pytest.mark.parametrize("kind", sorted(_kinds("Relation", "rel_type") - ALLOWED_RELATIONS))
def test_relation_that_is_not_allowed_is_rejected_within_another(kind: str) -> None:
    inner = pb2.Relation()
    getattr(inner, kind).SetInParent()
    with pytest.raises(ConnectFeatureNotSupported):
        query_of(pb2.Relation(limit=pb2.Limit(input=inner, limit=1)))


@pytest.mark.parametrize(
    "kind", ["common_inline_user_defined_function", "typed_aggregate_expression", "merge_action", "extension"]
)
def test_expression_that_is_not_allowed_is_rejected_within_another(kind: str) -> None:
    inner = pb2.Expression()
    getattr(inner, kind).SetInParent()
    relation = _relation(Project(Range(0, 3, 1), [F.col("id")]))
    relation.project.expressions.add().alias.expr.CopyFrom(inner)
    with pytest.raises((ConnectFeatureNotSupported, ConnectPlanInvalid)):
        query_of(relation)


def test_python_function_is_rejected_with_what_to_use_instead() -> None:
    relation = _relation(Project(Range(0, 3, 1), [F.col("id")]))
    function = relation.project.expressions.add().common_inline_user_defined_function
    function.python_udf.command = b"cloudpickle"
    with pytest.raises(ConnectFeatureNotSupported, match="user-defined function") as caught:
        query_of(relation)
    assert "SQL functions" in caught.value.hint


def test_unknown_field_is_rejected() -> None:
    relation = _relation(Filter(Range(0, 3, 1), F.col("id") > 1))
    newer = relation.SerializeToString() + b"\xd2\x3e\x01x"  # field 1002 with one byte
    with pytest.raises(ConnectFeatureNotSupported, match=r"spark\.connect\.Relation"):
        query_of(pb2.Relation.FromString(newer))


def test_compressed_plan_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _relation(Range(0, 3, 1)).SerializeToString()
    operation = pb2.Plan.CompressedOperation(
        data=zstandard.compress(data),
        op_type=pb2.Plan.CompressedOperation.OP_TYPE_RELATION,
        compression_codec=pb2.COMPRESSION_CODEC_ZSTD,
    )
    plan = pb2.Plan(compressed_operation=operation)
    assert operation_of(plan).range.end == 3
    monkeypatch.setattr("gateway.connect.plans.PLAN_BYTES_MAX", len(data) - 1)
    with pytest.raises(ConnectPlanUnreadable, match="more than"):
        operation_of(plan)
    operation.data = b"garbage"
    with pytest.raises(ConnectPlanUnreadable):
        operation_of(pb2.Plan(compressed_operation=operation))


LITERALS: dict[str, tuple[Column, tuple[str | None, str]]] = {
    "int": (F.lit(3), ("3", "int")),
    "long": (F.lit(1 << 40), (str(1 << 40), "bigint")),
    "text": (F.lit("it's"), ("it's", "string")),
    "boolean": (F.lit(True), ("true", "boolean")),
    "double": (F.lit(float("inf")), ("Infinity", "double")),
    "null": (F.lit(None), (None, "void")),
}


@pytest.mark.parametrize("case", LITERALS)
def test_literal_is_a_parameter(case: str) -> None:
    column, (value, sql_type) = LITERALS[case]
    found = parameter_of(column.to_plan(None))
    assert (found.value, found.sql_type) == (value, sql_type)


def test_literals_of_time_are_spelled_as_in_sql() -> None:
    literal: Any = pb2.Expression.Literal
    assert parameter_of(literal(date=-1)).value == "1969-12-31"
    assert parameter_of(literal(timestamp=1_500_000)).value == "1970-01-01 00:00:01.500000Z"
    assert parameter_of(literal(timestamp_ntz=0)).value == "1970-01-01 00:00:00"
    assert parameter_of(literal(day_time_interval=-90_061_000_001)).value == "-1 01:01:01.000001"
    assert parameter_of(literal(year_month_interval=-14)).value == "-1-2"
    decimal = parameter_of(literal(decimal=literal.Decimal(value="1.50", precision=5, scale=2)))
    assert (decimal.value, decimal.sql_type) == ("1.50", "decimal(5,2)")


def test_arrays_and_maps_are_parameters_with_members() -> None:
    array = parameter_of(F.array(F.lit(1), F.lit(2)).to_plan(None))
    assert array.sql_type == "ARRAY" and [one.value for one in array.members or ()] == ["1", "2"]
    made = parameter_of(F.create_map(F.lit("a"), F.lit(1)).to_plan(None))
    assert made.sql_type == "MAP" and [one.value for one in made.members or ()] == ["a", "1"]
    with pytest.raises(ConnectFeatureNotSupported, match="unresolved_attribute"):
        parameter_of(F.col("a").to_plan(None))
