"""DataFrame plans read the objects that their user may read, and contain only queries over their inputs."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.runtime.dataframe import DataFramePlan, PlanInput
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from engine.sql.query.dataframes import dataframe_query
from engine.statements.views.statement import create_dataframe_view
from tests.engine.connect_plans import CLIENT, F, input_table, plan, proto, relation
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataframes") / "lake"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def people(lake: Path, spark_driver: SparkDriver) -> Iterator[People]:
    """Yields sessions where ann sees all, and eve the rows of tenant a with masked numbers."""
    found = People(GuardedLake(lake), spark_driver)
    grants = (
        "CREATE SCHEMA shop",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA shop TO `account users`",
    )
    tables = (
        "CREATE FUNCTION shop.mine(tenant STRING) RETURNS BOOLEAN RETURN tenant = 'a' OR current_user() = 'ann'",
        "CREATE FUNCTION shop.masked(n INT) RETURNS INT RETURN CASE WHEN current_user() = 'ann' THEN n ELSE -1 END",
        "CREATE TABLE shop.orders (tenant STRING, n INT, amount INT)",
        "INSERT INTO shop.orders VALUES ('a', 1, 10), ('a', 2, 20), ('b', 0, 30), ('b', 4, 40)",
        "ALTER TABLE shop.orders SET ROW FILTER shop.mine ON (tenant)",
        "ALTER TABLE shop.orders ALTER COLUMN n SET MASK shop.masked",
        "GRANT SELECT ON shop.orders TO eve",
        "CREATE TABLE shop.secret (n INT)",
        "INSERT INTO shop.secret VALUES (7), (8)",
        "CREATE FUNCTION shop.secret_sum() RETURNS BIGINT RETURN (SELECT sum(n) FROM shop.secret)",
        "CREATE VIEW shop.shown AS SELECT count(*) AS n FROM shop.secret",
        "CREATE VIEW shop.large AS SELECT n FROM shop.secret WHERE n > 7",
        "GRANT SELECT ON shop.shown TO eve",
        "GRANT SELECT ON shop.large TO eve",
        "CREATE TABLE shop.open (n INT)",
        "INSERT INTO shop.open VALUES (3)",
        "GRANT SELECT ON shop.open TO eve",
    )
    for text in grants:
        found.rows("root", text)
    for text in tables:
        found.rows("ann", text)
    yield found
    found.close()


def rows(people: People, who: str, frame: DataFramePlan) -> list[tuple[Any, ...]]:
    return people.rows(who, dataframe_query(frame))


def condition(people: People, who: str, frame: DataFramePlan) -> str:
    with pytest.raises(SqlError) as caught:
        rows(people, who, frame)
    return caught.value.condition


ORDERS, OPEN, SECRET = ("SELECT * FROM shop." + name for name in ("orders", "open", "secret"))


def test_aggregate_over_a_filter_sees_the_rows_of_its_user(people: People) -> None:
    t = input_table()
    frame = plan(
        t.filter(t["amount"] > 10).groupBy("tenant").agg(F.sum("amount"), F.min("n"), F.count("*")).orderBy("tenant"),
        ORDERS,
    )
    assert rows(people, "ann", frame) == [("a", 20, 2, 1), ("b", 70, 0, 2)]
    assert rows(people, "eve", frame) == [("a", 20, -1, 1)]


def test_expression_that_fails_on_hidden_rows_does_not_fail(people: People) -> None:
    frame = plan(input_table().filter(F.lit(100) / (F.col("amount") - 30) < 0).groupBy().count(), ORDERS)
    assert condition(people, "ann", frame) == "DIVIDE_BY_ZERO"
    assert rows(people, "eve", frame) == [(2,)]


def test_error_of_a_visible_row_shows_no_value_below_a_policy(people: People) -> None:
    frame = plan(input_table().select(F.col("tenant").cast("int")), ORDERS)
    with pytest.raises(SqlError) as caught:
        rows(people, "eve", frame)
    assert caught.value.condition == "CAST_INVALID_INPUT" and "'a'" not in caught.value.message


@pytest.mark.parametrize("expression", ["amount + nope", "cast(tenant AS INT)"])
def test_error_in_an_expression_over_a_policy_is_reported_as_in_sql(people: People, expression: str) -> None:
    frame = replace(plan(input_table().select(F.expr(expression)), ORDERS), expressions=(expression,))
    in_sql = people.refuse("eve", f"SELECT\n{expression} FROM shop.orders")
    with pytest.raises(SqlError) as caught:
        rows(people, "eve", frame)
    assert in_sql.position is not None and in_sql.position.line == 2
    excerpt = in_sql.position.excerpt.replace(" FROM shop.orders", "")
    assert caught.value.position == replace(in_sql.position, line=1, excerpt=excerpt)
    assert caught.value.message == in_sql.message.replace("(line 2", "(line 1")


def test_input_requires_privileges_of_the_session(people: People) -> None:
    frame = plan(input_table(), SECRET)
    assert sorted(rows(people, "ann", frame)) == [(7,), (8,)]
    assert condition(people, "eve", frame) == "TABLE_OR_VIEW_NOT_FOUND"
    assert rows(people, "eve", plan(input_table(), "SELECT * FROM shop.shown")) == [(2,)]
    assert condition(people, "eve", plan(input_table(), "SELECT shop.secret_sum()")) == "UNRESOLVED_ROUTINE"


def test_view_over_a_dataframe_requires_privileges_at_each_use(people: People) -> None:
    frame = plan(input_table(), OPEN)
    people.rows("eve", create_dataframe_view(("v",), frame, or_replace=True))
    assert people.rows("eve", "SELECT * FROM v") == [(3,)]
    people.rows("ann", "REVOKE SELECT ON shop.open FROM eve")
    assert people.refuse("eve", "SELECT * FROM v").condition == "TABLE_OR_VIEW_NOT_FOUND"
    people.rows("ann", "GRANT SELECT ON shop.open TO eve")
    assert people.rows("eve", "SELECT * FROM v") == [(3,)]


def test_global_view_over_a_dataframe_belongs_to_its_user(people: People) -> None:
    people.rows("ann", create_dataframe_view(("g",), plan(input_table(), SECRET), or_replace=True, shared=True))
    assert sorted(people.rows("ann", "SELECT * FROM global_temp.g")) == [(7,), (8,)]
    assert people.refuse("eve", "SELECT * FROM global_temp.g").condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_functions_of_files_find_none_below_a_hidden_view(people: People) -> None:
    frame = plan(input_table().select("n", F.input_file_name()), "SELECT * FROM shop.large")
    assert rows(people, "eve", frame) == [(8, "")]
    ((_, file),) = rows(people, "ann", frame)
    assert file.endswith(".parquet")


def observed(people: People, who: str, frame: DataFramePlan) -> list[Any]:
    """Returns the metrics of a DataFrame, as the literals' values."""
    found: list[bytes] = []
    request = StatementRequest(identity=people._lake.identity(who), on_observed=found.extend)
    result = people._result(who, dataframe_query(frame), request)
    list(result.batches())
    result.close()
    messages = [proto.ExecutePlanResponse.ObservedMetrics.FromString(one) for one in found]
    literals = [value for message in messages for value in message.values]
    return [getattr(value, value.WhichOneof("literal_type")) for value in literals]


def test_observed_metrics_are_those_of_the_rows_of_the_user(people: People) -> None:
    t = input_table()
    metrics = F.count("*").alias("rows"), F.sum("amount").alias("sum"), F.min("n").alias("n")
    for frame in (t.observe("m", *metrics), t.observe("m", *metrics).filter("amount < 0")):
        assert observed(people, "ann", plan(frame, ORDERS)) == [4, 100, 0]
        assert observed(people, "eve", plan(frame, ORDERS)) == [2, 30, -1]
    failing = t.observe("m", F.max(F.lit(1) / (F.col("amount") - 30)).alias("x"))
    assert observed(people, "eve", plan(failing, ORDERS)) == [-0.05]


def test_observed_file_names_are_none_below_a_hidden_view(people: People) -> None:
    frame = plan(input_table().observe("m", F.max(F.input_file_name()).alias("file")), "SELECT * FROM shop.large")
    assert observed(people, "eve", frame) == [""]
    (file,) = observed(people, "ann", frame)
    assert file.endswith(".parquet")
    positions = input_table().observe("m", F.max(F.monotonically_increasing_id()).alias("id"))
    assert condition(people, "eve", plan(positions, ORDERS)) == condition(
        people, "eve", plan(input_table().select(F.monotonically_increasing_id()), ORDERS)
    )


def test_filter_that_fails_on_rows_of_a_hidden_view_does_not_fail(people: People) -> None:
    frame = plan(input_table().filter(F.lit(1) / (F.col("n") - 7) > 0), "SELECT * FROM shop.large")
    assert rows(people, "eve", frame) == [(8,)]


def test_metadata_of_files_is_no_column_of_an_input(people: People) -> None:
    for name, text in (("_metadata", ORDERS), ("_metadata", OPEN), ("n", "SELECT n FROM shop.large")):
        t = input_table()
        for frame in (t.select(t.metadataColumn(name)), t.filter(t.metadataColumn(name).isNotNull())):
            assert condition(people, "eve", plan(frame, text)) == "CANNOT_RESOLVE_DATAFRAME_COLUMN"
    assert rows(people, "eve", plan(input_table().select("n"), OPEN)) == [(3,)]


def test_accesses_are_those_of_the_inputs(people: People) -> None:
    found: list[tuple[str, str]] = []
    identity = GuardedLake.identity(people._lake, "eve")
    request = StatementRequest(
        identity=identity, on_authorized=lambda access: found.extend((each.name, each.kind) for each in access.objects)
    )
    two = plan(input_table(0).crossJoin(input_table(1)), OPEN, "SELECT * FROM shop.shown")
    people._result("eve", dataframe_query(two), request).close()
    names = [(name.rpartition(".")[2].strip("`"), kind) for name, kind in found]
    assert sorted(names) == [("open", "TABLE"), ("secret", "TABLE"), ("shown", "VIEW")]


def read(name: str, **fields: Any) -> Any:
    return proto.Relation(read=proto.Read(named_table=proto.Read.NamedTable(unparsed_identifier=name, **fields)))


INPUT = "gateway_input_0"
NAMES = [
    *("shop.secret", "secret", "spark_catalog.shop.secret", "`spark_catalog`.`shop`.`secret`", "open"),
    *("parquet.`/etc/passwd`", "text.`/etc/passwd`", "delta.`{lake}/shop/secret`", "`parquet`.`{lake}/shop/secret`"),
    *("__scan_0", "__view_0", "__view_1", "`__view_0`", "gateway_input_1", "GATEWAY_INPUT_0", "`gateway_input_0`"),
    *("gateway_dataframe", "system.session.gateway_input_0", "", "information_schema.tables", "global_temp.g"),
]


@pytest.mark.parametrize("name", NAMES)
def test_named_table_that_is_no_input_is_rejected(people: People, lake: Path, name: str) -> None:
    attack = read(name.format(lake=lake))
    subquery = relation(input_table().where(input_table().exists()))
    subquery.with_relations.references[0].CopyFrom(attack)
    union = relation(input_table().union(CLIENT.range(1)))
    union.set_op.right_input.CopyFrom(attack)
    for message in (attack, subquery, union):
        assert condition(people, "ann", plan(message, OPEN)) == "UNSUPPORTED_RELATION"
    assert rows(people, "ann", plan(read(INPUT), OPEN)) == [(3,)]
    assert rows(people, "ann", plan(input_table().union(CLIENT.range(1)), OPEN)) == [(3,), (0,)]


def project(*expressions: Any) -> Any:
    return proto.Relation(project=proto.Project(input=read(INPUT), expressions=expressions))


def text(expression: str) -> Any:
    return project(proto.Expression(expression_string={"expression": expression}))


def call(name: str, **fields: Any) -> Any:
    arguments = [proto.Expression(literal={"string": each}) for each in ("java.lang.System", "lineSeparator")]
    return project(proto.Expression(unresolved_function={"function_name": name, "arguments": arguments, **fields}))


def named_call(name: str) -> Any:
    argument = proto.Expression(literal={"integer": 1})
    return project(proto.Expression(call_function={"function_name": name, "arguments": [argument]}))


def table_function(name: str) -> Any:
    argument = proto.Expression(literal={"integer": 2})
    return proto.Relation(unresolved_table_valued_function={"function_name": name, "arguments": [argument]})


def cast(**target: Any) -> Any:
    return project(proto.Expression(cast={"expr": {"literal": {"integer": 1}}, **target}))


def alias(metadata: str) -> Any:
    return project(proto.Expression(alias={"expr": {"literal": {"integer": 3}}, "name": ["n"], "metadata": metadata}))


def local(schema: str) -> Any:
    return proto.Relation(local_relation={"schema": schema})


def part(metadata: str) -> pa.Field:
    return pa.field("n", pa.int32(), metadata={"SPARK::metadata::json": metadata})


def arrow(column: pa.DataType, metadata: str) -> Any:
    named = pa.schema([part(metadata).with_type(column)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, named) as writer:
        writer.write_batch(pa.record_batch([pa.array([None], column)], schema=named))
    return proto.Relation(local_relation={"data": sink.getvalue().to_pybytes()})


UDT = {"type": "udt", "class": "org.apache.spark.mllib.linalg.VectorUDT", "sqlType": "integer"}
PYTHON_UDT = {"type": "udt", "pyClass": "a.B", "serializedClass": "", "sqlType": "integer"}
FIELD = {"name": "n", "type": "integer", "nullable": True, "metadata": {}}


def list_type(element: Any) -> Any:
    return {"type": "array", "elementType": element, "containsNull": True}


def schema(**field: Any) -> str:
    return json.dumps({"type": "struct", "fields": [{**FIELD, **field}]})


def with_unknown_field(message: Any) -> Any:
    # Field 999 with the value 1.
    return proto.Relation.FromString(message.SerializeToString() + b"\xb8\x3e\x01")


# Pairs of a message, and an allowed one that differs in the rejected part.
ATTACKS: dict[str, tuple[Callable[[], Any], str, Callable[[], Any]]] = {
    "table in expression text": (
        lambda: text("(SELECT max(n) FROM shop.secret)"), "UNSUPPORTED_RELATION", lambda: text("abs(n)")
    ),
    "input in expression text": (
        lambda: text("(SELECT max(n) FROM gateway_input_0)"), "UNSUPPORTED_RELATION", lambda: text("(n + 0)")
    ),
    "scan in expression text": (
        lambda: text("EXISTS (SELECT 1 FROM __scan_0)"), "UNSUPPORTED_RELATION", lambda: text("n IN (3)")
    ),
    "view in expression text": (
        lambda: text("n IN (SELECT n FROM `__view_0`)"), "UNSUPPORTED_RELATION", lambda: text("n IN (4)")
    ),
    "file in expression text": (
        lambda: text("(SELECT max(value) FROM text.`/etc/passwd`)"), "UNSUPPORTED_RELATION", lambda: text("upper('a')")
    ),
    "method in expression text": (
        lambda: text("java_method('java.lang.System', 'exit', 1)"), "UNRESOLVED_ROUTINE", lambda: text("lower('a')")
    ),
    "body in expression text": (lambda: text("__body_1('{}')"), "UNRESOLVED_ROUTINE", lambda: text("hash('{}')")),
    "method": (lambda: call("java_method"), "UNRESOLVED_ROUTINE", lambda: call("concat")),
    "qualified method": (lambda: call("builtin.java_method"), "UNRESOLVED_ROUTINE", lambda: call("concat")),
    "reflect": (lambda: call("Reflect"), "UNRESOLVED_ROUTINE", lambda: call("Concat")),
    "user-defined function": (
        lambda: call("reflect", is_user_defined_function=True), "UNRESOLVED_ROUTINE",
        lambda: call("concat", is_user_defined_function=True),
    ),
    "body": (lambda: call("__body_1"), "UNRESOLVED_ROUTINE", lambda: call("concat")),
    "internal function": (
        lambda: call("concat", is_internal=True), "UNRESOLVED_ROUTINE", lambda: call("concat", is_internal=False)
    ),
    "function without an entry": (lambda: call("shop.masked"), "UNRESOLVED_ROUTINE", lambda: call("concat")),
    "called method": (lambda: named_call("java_method"), "UNRESOLVED_ROUTINE", lambda: named_call("abs")),
    "called qualified function": (
        lambda: named_call("spark_catalog.shop.masked"), "UNRESOLVED_ROUTINE", lambda: named_call("abs")
    ),
    "table function": (
        lambda: table_function("python_worker_logs"), "UNRESOLVED_ROUTINE", lambda: table_function("range")
    ),
    "class of a type": (
        lambda: cast(type={"udt": {"type": "udt", "jvm_class": UDT["class"]}}), "UNSUPPORTED_PLAN",
        lambda: cast(type={"string": {}}),
    ),
    "class of a type in JSON": (
        lambda: cast(type_str=json.dumps(UDT)), "UNSUPPORTED_PLAN", lambda: cast(type_str="string")
    ),
    "class of an unparsed type": (
        lambda: cast(type={"unparsed": {"data_type_string": json.dumps(UDT)}}), "UNSUPPORTED_PLAN",
        lambda: cast(type={"unparsed": {"data_type_string": "string"}}),
    ),
    "class in a schema": (
        lambda: local(schema(type=UDT)), "UNSUPPORTED_PLAN", lambda: local(schema(type=PYTHON_UDT))
    ),
    "class in a part of a schema": (
        lambda: local(schema(type=list_type(UDT))), "UNSUPPORTED_PLAN",
        # Python's class is the client's, and the other one is never loaded.
        lambda: local(schema(type=list_type(PYTHON_UDT | {"class": "there.is.no.such.Class"}))),
    ),
    "escaped class in a schema": (
        lambda: local(schema(type=UDT).replace("udt", "\\u0075dt")), "UNSUPPORTED_PLAN", lambda: local(schema())
    ),
    "metadata in a schema": (
        lambda: local(schema(metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})), "UNSUPPORTED_PLAN",
        lambda: local(schema(metadata={"comment": "x"})),
    ),
    "metadata of Arrow's column": (
        lambda: arrow(pa.int32(), '{"__metadata_col":true}'), "UNSUPPORTED_PLAN",
        lambda: arrow(pa.int32(), '{"comment":"x"}'),
    ),
    "metadata of a part of Arrow's column": (
        lambda: arrow(pa.struct([part('{"EXISTS_DEFAULT":"1"}')]), "{}"), "UNSUPPORTED_PLAN",
        lambda: arrow(pa.struct([part('{"unit":"m"}')]), "{}"),
    ),
    "default in metadata": (
        lambda: alias('{"CURRENT_DEFAULT": "1"}'), "UNSUPPORTED_PLAN", lambda: alias('{"DEFAULT": "1"}')
    ),
    "hidden column in metadata": (
        lambda: alias('{"max": 1, "__metadata_col": true}'), "UNSUPPORTED_PLAN", lambda: alias('{"max": 1}')
    ),
    "comment that is no text": (
        lambda: alias('{"comment": 1}'), "UNSUPPORTED_PLAN", lambda: alias('{"comment": "1"}')
    ),
    "metadata of the gateway": (
        lambda: alias('{"gateway.read": true}'), "UNSUPPORTED_PLAN", lambda: alias('{"comment": "x"}')
    ),
    "metadata of Delta": (
        lambda: alias('{"delta.generationExpression": "1"}'), "UNSUPPORTED_PLAN", lambda: alias("{}")
    ),
    "options of a table": (
        lambda: read(INPUT, options={"versionAsOf": "0"}), "UNSUPPORTED_PLAN", lambda: read(INPUT, options={})
    ),
    "stream": (
        lambda: proto.Relation(read={"named_table": {"unparsed_identifier": INPUT}, "is_streaming": True}),
        "UNSUPPORTED_PLAN", lambda: read(INPUT),
    ),
    "files": (
        lambda: proto.Relation(read={"data_source": {"format": "text", "paths": ["/etc/passwd"]}}), "UNSUPPORTED_PLAN",
        lambda: read(INPUT),
    ),
    "no table": (lambda: proto.Relation(read={}), "UNSUPPORTED_PLAN", lambda: read(INPUT)),
    "SQL in a relation": (
        lambda: proto.Relation(sql={"query": "SELECT * FROM shop.secret"}), "UNSUPPORTED_PLAN", lambda: read(INPUT)
    ),
    "SQL as a root": (
        lambda: proto.Relation(with_relations={"root": {"sql": {"query": "SELECT 1"}}, "references": [read(INPUT)]}),
        "UNSUPPORTED_PLAN", lambda: relation(input_table().where(input_table().exists())),
    ),
    "pivot without values": (
        lambda: relation(input_table().groupBy().pivot("n").agg(F.max("n"))), "UNSUPPORTED_PLAN",
        lambda: relation(input_table().groupBy().pivot("n", [3]).agg(F.max("n"))),
    ),
    "watermark": (
        lambda: relation(input_table().dropDuplicatesWithinWatermark()), "UNSUPPORTED_PLAN",
        lambda: relation(input_table().dropDuplicates()),
    ),
    "unknown field": (lambda: with_unknown_field(read(INPUT)), "UNSUPPORTED_PLAN", lambda: read(INPUT)),
    "unknown field of a nested relation": (
        lambda: proto.Relation(limit={"input": with_unknown_field(read(INPUT)), "limit": 1}), "UNSUPPORTED_PLAN",
        lambda: proto.Relation(limit={"input": read(INPUT), "limit": 1}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_plan_with_more_than_a_query_over_inputs_is_rejected(people: People, name: str) -> None:
    attack, expected, control = ATTACKS[name]
    assert condition(people, "ann", plan(attack(), OPEN)) == expected
    rows(people, "ann", plan(control(), OPEN))


ALLOWED_RELATIONS = {
    *(
        "aggregate",
        "as_of_join",
        "collect_metrics",
        "deduplicate",
        "describe",
        "drop",
        "drop_na",
        "fill_na",
        "filter",
        "freq_items",
        "hint",
    ),
    *("join", "lateral_join", "limit", "local_relation", "offset", "project", "range", "read", "repartition"),
    *(
        "repartition_by_expression",
        "replace",
        "sample",
        "sample_by",
        "set_op",
        "sort",
        "subquery_alias",
        "summary",
        "tail",
        "to_df",
    ),
    *("to_schema", "unpivot", "unresolved_table_valued_function", "with_columns", "with_columns_renamed"),
    "with_relations",
}
ALLOWED_EXPRESSIONS = {
    *("alias", "call_function", "cast", "expression_string", "lambda_function", "literal", "named_argument_expression"),
    *("sort_order", "subquery_expression", "unresolved_attribute", "unresolved_extract_value", "unresolved_function"),
    *("unresolved_named_lambda_variable", "unresolved_regex", "unresolved_star", "update_fields", "window"),
}


def kinds(message: Any, oneof: str) -> list[str]:
    return [field.name for field in message.DESCRIPTOR.oneofs_by_name[oneof].fields]


def empty(message: Any, field: str) -> Any:
    """Returns a message with an empty value in the field."""
    found = message()
    getattr(found, field).SetInParent()
    return found


@pytest.mark.parametrize("kind", sorted({*kinds(proto.Relation, "rel_type")} - ALLOWED_RELATIONS))
def test_relation_that_is_not_allowed_is_rejected_by_its_kind(people: People, kind: str) -> None:
    """The list of the others is compared with the protocol: a kind that Spark adds is rejected until it is known."""
    attack = empty(proto.Relation, kind)
    nested = proto.Relation(limit={"input": attack, "limit": 1})
    exists = relation(input_table().where(input_table().exists()))
    exists.with_relations.references[0].CopyFrom(attack)
    for message in (attack, nested, exists):
        with pytest.raises(SqlError) as caught:
            rows(people, "ann", plan(message, OPEN))
        assert caught.value.condition == "UNSUPPORTED_PLAN"
        assert type(getattr(attack, kind)).DESCRIPTOR.name in caught.value.message


@pytest.mark.parametrize("kind", sorted({*kinds(proto.Expression, "expr_type")} - ALLOWED_EXPRESSIONS))
def test_expression_that_is_not_allowed_is_rejected_by_its_kind(people: People, kind: str) -> None:
    attack = empty(proto.Expression, kind)
    nested = proto.Expression(unresolved_function={"function_name": "abs", "arguments": [attack]})
    condition_ = proto.Relation(filter={"input": read(INPUT), "condition": attack})
    for message in (project(attack), project(nested), condition_):
        with pytest.raises(SqlError) as caught:
            rows(people, "ann", plan(message, OPEN))
        assert caught.value.condition == "UNSUPPORTED_PLAN"
        assert type(getattr(attack, kind)).DESCRIPTOR.name in caught.value.message


def test_payload_of_a_function_is_not_deserialized(people: People) -> None:
    # The header of a Java serialization stream, whose content would raise another error.
    payload = b"\xac\xed\x00\x05not an object"
    udf = {"function_name": "f", "scalar_scala_udf": {"payload": payload, "nullable": True}}
    frame = plan(project(proto.Expression(common_inline_user_defined_function=udf)), OPEN)
    assert condition(people, "ann", frame) == "UNSUPPORTED_PLAN"


@pytest.mark.parametrize("content", [b"\xff", b"\x0a\x05abc", b"\x08\x01", bytes(range(256))])
def test_bytes_that_are_no_relation_are_rejected(people: People, content: bytes) -> None:
    malformed = DataFramePlan(plan=content, inputs=(), description="DataFrame")
    assert condition(people, "ann", malformed) == "UNSUPPORTED_PLAN"


def nested(content: bytes, levels: int) -> bytes:
    """Returns a relation below so many LIMITs, which Python's library would reject."""
    for _ in range(levels):
        limit = b"\x0a" + varint(len(content)) + content + b"\x10\x01"  # field 1: input, field 2: limit
        content = b"\x42" + varint(len(limit)) + limit  # field 8: limit
        if len(content) > 200_000:
            break
    return content


def varint(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def test_depth_of_plans_is_limited(people: People) -> None:
    frame = input_table()
    for _ in range(200):
        frame = frame.withColumn("n", F.col("n") + 1)
    assert rows(people, "ann", plan(frame, OPEN)) == [(203,)]
    for levels in (600, 100_000):
        deep = replace(plan(input_table(), OPEN), plan=nested(read(INPUT).SerializeToString(), levels))
        assert condition(people, "ann", deep) == "UNSUPPORTED_PLAN"
    assert rows(people, "ann", plan(input_table(), OPEN)) == [(3,)]


def test_origin_in_the_program_of_the_client_is_ignored(people: People) -> None:
    message = relation(input_table().select(F.col("n") + 1))
    trace = [{"declaring_class": "x", "method_name": "y"}]
    message.common.MergeFrom(proto.RelationCommon(origin={"jvm_origin": {"line": 1, "stack_trace": trace}}))
    assert rows(people, "ann", plan(message, OPEN)) == [(4,)]


def stream(column: pa.Array, compression: str | None = None) -> bytes:
    """Returns a stream of Arrow with one column."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, pa.schema([("s", column.type)]), options=options) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([column], ["s"]))
    return sink.getvalue()


def local_rows(content: bytes) -> DataFramePlan:
    return plan(proto.Relation(local_relation={"data": content}))


TEXTS = pa.array(["a" * 300, "b" * 477])
LISTS = pa.array([[1] * 300, [2] * 477], pa.list_(pa.int32()))
OFFSETS = struct.pack("<3i", 0, 300, 777)
# Offsets in a stream that pyarrow would not write. After the items of lists, Arrow's reader adds zeros.
WRONG_OFFSETS = [(-4096, 300, 777), (0, 777, 300), (0, 300, -1), (0, 1 << 30, 1 << 30)]
AFTER_THE_END = [(0, 300, 1 << 20), (0, 300, 9999)]


@pytest.mark.parametrize(
    ("column", "offsets"),
    [*((TEXTS, each) for each in (*WRONG_OFFSETS, *AFTER_THE_END)), *((LISTS, each) for each in WRONG_OFFSETS)],
)
def test_local_rows_outside_of_their_buffers_are_rejected(
    people: People, column: pa.Array, offsets: tuple[int, ...]
) -> None:
    content = stream(column)
    assert content.count(OFFSETS) == 1
    wrong = content.replace(OFFSETS, struct.pack("<3i", *offsets))
    assert condition(people, "ann", local_rows(wrong)) == "UNSUPPORTED_PLAN"
    assert rows(people, "ann", local_rows(content)) == [(value,) for value in column.to_pylist()]


def test_local_rows_in_other_forms_are_rejected(people: People) -> None:
    assert condition(people, "ann", local_rows(stream(pa.nulls(2_000_000_000)))) == "UNSUPPORTED_PLAN"
    assert rows(people, "ann", local_rows(stream(pa.nulls(2)))) == [(None,), (None,)]
    assert condition(people, "ann", local_rows(stream(pa.array(["x"]).dictionary_encode()))) == "UNSUPPORTED_PLAN"
    assert rows(people, "ann", local_rows(stream(pa.array(["x"])))) == [("x",)]
    for content in (b"x", b"\xff" * 100, stream(TEXTS)[:-600]):
        assert condition(people, "ann", local_rows(content)) == "UNSUPPORTED_PLAN"


def test_local_decimals_have_at_most_the_digits_of_their_type(people: People) -> None:
    full = pa.array([Decimal("99.99"), None, Decimal("-99.99"), Decimal("0.00")], pa.decimal128(4, 2))
    lists = pa.array([[value] for value in full.to_pylist()], pa.list_(full.type))
    for column in (full, lists):
        assert rows(people, "ann", local_rows(stream(column))) == [(value,) for value in column.to_pylist()]
    data = full.buffers()[1].to_pybytes()
    wide = stream(full).replace(data, data[:16] + (10_000).to_bytes(16, "little") + data[32:])
    assert rows(people, "ann", local_rows(wide)) == [(value,) for value in full.to_pylist()]  # the row is NULL
    wrong = stream(full).replace(data, (10_000).to_bytes(16, "little") + data[16:])
    assert condition(people, "ann", local_rows(wrong)) == "UNSUPPORTED_PLAN"


def test_compressed_local_rows_are_rejected(people: People) -> None:
    zeros = pa.array([0] * 1_000_000, pa.int64())
    assert condition(people, "ann", local_rows(stream(zeros, "zstd"))) == "UNSUPPORTED_PLAN"
    assert len(rows(people, "ann", local_rows(stream(zeros)))) == 1_000_000


def test_text_of_an_input_names_no_other_input(people: People) -> None:
    for name in ("gateway_input_0", "gateway_input_1", "__view_0", "__scan_0", "gateway_dataframe"):
        frame = plan(input_table(1), OPEN, f"SELECT * FROM {name}")
        assert condition(people, "ann", frame) == "TABLE_OR_VIEW_NOT_FOUND"
    assert rows(people, "ann", plan(input_table(1), SECRET, OPEN)) == [(3,)]


def test_view_named_like_an_input_is_not_read_instead_of_it(people: People) -> None:
    for name in ("gateway_input_0", "gateway_dataframe"):
        people.rows("ann", f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT 1 AS wrong")
    frame = plan(input_table(0).crossJoin(input_table(1)), OPEN, "SELECT * FROM gateway_input_0")
    assert rows(people, "ann", frame) == [(3, 1)]
    assert rows(people, "ann", plan(input_table(0), "SELECT * FROM gateway_dataframe")) == [(1,)]
    outer = PlanInput(name=INPUT, text="SELECT * FROM x, gateway_input_0", frames=(("x", plan(input_table(), OPEN)),))
    assert rows(people, "ann", plan(input_table(), outer)) == [(3, 1)]
