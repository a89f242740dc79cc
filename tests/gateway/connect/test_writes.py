"""Commands that write, as SQL."""

from __future__ import annotations

from typing import Any

import pyspark.sql.connect.functions as F
import pyspark.sql.connect.proto as pb2
import pytest

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid, InvalidSettingValue
from gateway.connect.expressions import expression_sql
from gateway.connect.writes import merge_text, write_of, write_v2_of

Mode: Any = pb2.WriteOperation.SaveMode
Mode2: Any = pb2.WriteOperationV2.Mode
DYNAMIC = {"partitionOverwriteMode": "dynamic"}


def _save(mode: int, table: str = "s.t", *, by_position: bool = False, **fields: Any) -> pb2.WriteOperation:
    command = pb2.WriteOperation(mode=mode, **fields)
    if not fields.get("path"):
        command.table.table_name = table
        command.table.save_method = 2 if by_position else 1
    return command


# A command, whether the table exists, and its statement over the source `v`.
WRITES = {
    "create": (_save(Mode.SAVE_MODE_ERROR_IF_EXISTS), False, "CREATE TABLE `s`.`t` USING delta AS SELECT * FROM v"),
    "create in format": (
        _save(Mode.SAVE_MODE_ERROR_IF_EXISTS, source="iceberg", partitioning_columns=["a", "b c"]),
        False,
        "CREATE TABLE `s`.`t` USING iceberg PARTITIONED BY (`a`, `b c`) AS SELECT * FROM v",
    ),
    "ignore": (
        _save(Mode.SAVE_MODE_IGNORE, clustering_columns=["a"]),
        True,
        "CREATE TABLE IF NOT EXISTS `s`.`t` USING delta CLUSTER BY (`a`) AS SELECT * FROM v",
    ),
    "append": (_save(Mode.SAVE_MODE_APPEND), True, "INSERT INTO `s`.`t` BY NAME SELECT * FROM v"),
    "append to a missing table": (
        _save(Mode.SAVE_MODE_APPEND),
        False,
        "CREATE TABLE `s`.`t` USING delta AS SELECT * FROM v",
    ),
    "append with evolution": (
        _save(Mode.SAVE_MODE_APPEND, options={"mergeSchema": "TRUE"}),
        True,
        "INSERT WITH SCHEMA EVOLUTION INTO `s`.`t` BY NAME SELECT * FROM v",
    ),
    "overwrite": (_save(Mode.SAVE_MODE_OVERWRITE), True, "INSERT OVERWRITE TABLE `s`.`t` BY NAME SELECT * FROM v"),
    "overwrite with another schema": (
        _save(Mode.SAVE_MODE_OVERWRITE, options={"overwriteSchema": "true"}),
        True,
        "CREATE OR REPLACE TABLE `s`.`t` USING delta AS SELECT * FROM v",
    ),
    "replace where": (
        _save(Mode.SAVE_MODE_OVERWRITE, options={"replaceWhere": "d = 1"}),
        True,
        "INSERT INTO `s`.`t` BY NAME REPLACE WHERE d = 1 SELECT * FROM v",
    ),
    "insertInto": (
        _save(Mode.SAVE_MODE_ERROR_IF_EXISTS, by_position=True),
        True,
        "INSERT INTO `s`.`t` SELECT * FROM v",
    ),
    "insertInto with overwrite": (
        _save(Mode.SAVE_MODE_OVERWRITE, by_position=True),
        True,
        "INSERT OVERWRITE TABLE `s`.`t` SELECT * FROM v",
    ),
    "path": (_save(Mode.SAVE_MODE_APPEND, path="/l/x"), True, "INSERT INTO delta.`/l/x` BY NAME SELECT * FROM v"),
    "table at a path": (
        _save(Mode.SAVE_MODE_ERROR_IF_EXISTS, options={"path": "/l/it's"}),
        False,
        "CREATE TABLE `s`.`t` USING delta LOCATION '/l/it\\'s' AS SELECT * FROM v",
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_write_is_its_statement(case: str) -> None:
    command, exists, text = WRITES[case]
    assert write_of(command).text("v", exists=exists) == text


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (_save(Mode.SAVE_MODE_APPEND, source="jdbc"), "jdbc"),
        (_save(Mode.SAVE_MODE_APPEND, source="parquet", path="/etc/x"), "parquet"),
        (_save(Mode.SAVE_MODE_APPEND, options={"txnId": "x"}), "txnid"),
        (_save(Mode.SAVE_MODE_OVERWRITE, options={**DYNAMIC, "overwriteSchema": "true"}), "overwriteSchema"),
        (_save(Mode.SAVE_MODE_OVERWRITE, options={**DYNAMIC, "replaceWhere": "p = 1"}), "replaceWhere"),
        (_save(Mode.SAVE_MODE_APPEND, bucket_by={"num_buckets": 3}), "buckets"),
    ],
)
def test_write_that_is_not_supported_is_rejected_by_name(command: pb2.WriteOperation, name: str) -> None:
    with pytest.raises(ConnectFeatureNotSupported, match=name):
        write_of(command)


def test_options_of_a_write_are_settings_of_its_statement() -> None:
    options = {**DYNAMIC, "txnAppId": "loads", "txnVersion": "7"}
    assert write_of(_save(Mode.SAVE_MODE_OVERWRITE, options=options)).settings == {
        "spark.sql.sources.partitionOverwriteMode": "DYNAMIC",
        "spark.databricks.delta.write.txnAppId": "loads",
        "spark.databricks.delta.write.txnVersion": "7",
    }
    wrong = pb2.WriteOperationV2(table_name="t", mode=Mode2.MODE_APPEND, options={"txnVersion": "x"})
    with pytest.raises(InvalidSettingValue, match="txnVersion"):
        write_v2_of(wrong)


def test_overwrite_of_partitions_is_dynamic() -> None:
    write = write_v2_of(pb2.WriteOperationV2(table_name="t", mode=Mode2.MODE_OVERWRITE_PARTITIONS))
    assert write.text("v", exists=True) == "INSERT OVERWRITE TABLE `t` BY NAME SELECT * FROM v"
    assert write.settings == {"spark.sql.sources.partitionOverwriteMode": "DYNAMIC"}


def test_write_without_a_target_is_invalid() -> None:
    with pytest.raises(ConnectPlanInvalid):
        write_of(pb2.WriteOperation(mode=1))


def _expression(column: Any) -> pb2.Expression:
    found: pb2.Expression = column.to_plan(None)
    return found


V2 = {
    "create": (
        pb2.WriteOperationV2(table_name="t", mode=Mode2.MODE_CREATE, provider="delta", table_properties={"a": "it's"}),
        "CREATE TABLE `t` USING delta TBLPROPERTIES ('a' = 'it\\'s') AS SELECT * FROM v",
    ),
    "partitioned": (
        pb2.WriteOperationV2(
            table_name="t", mode=Mode2.MODE_CREATE_OR_REPLACE, partitioning_columns=[_expression(F.years("d"))]
        ),
        "CREATE OR REPLACE TABLE `t` USING delta PARTITIONED BY (years(`d`)) AS SELECT * FROM v",
    ),
    "replace": (
        pb2.WriteOperationV2(table_name="t", mode=Mode2.MODE_REPLACE),
        "REPLACE TABLE `t` USING delta AS SELECT * FROM v",
    ),
    "append": (
        pb2.WriteOperationV2(table_name="t", mode=Mode2.MODE_APPEND),
        "INSERT INTO `t` BY NAME SELECT * FROM v",
    ),
    "overwrite": (
        pb2.WriteOperationV2(
            table_name="t", mode=Mode2.MODE_OVERWRITE, overwrite_condition=_expression(F.col("d") == "x")
        ),
        "INSERT INTO `t` BY NAME REPLACE WHERE (`d` = CAST('x' AS string)) SELECT * FROM v",
    ),
}


@pytest.mark.parametrize("case", V2)
def test_write_to_is_its_statement(case: str) -> None:
    command, text = V2[case]
    write = write_v2_of(command)
    assert not write.depends_on_existence
    assert write.text("v", exists=True) == text


def test_merge_is_its_statement() -> None:
    command = pb2.MergeIntoTableCommand(target_table_name="s.t", with_schema_evolution=True)
    command.source_table_plan.subquery_alias.alias = "src"
    command.merge_condition.CopyFrom(_expression(F.expr("t.id = src.id")))
    update = command.match_actions.add().merge_action
    update.action_type = pb2.MergeAction.ACTION_TYPE_UPDATE
    update.condition.CopyFrom(_expression(F.col("src.n") > 1))
    update.assignments.add(key=_expression(F.col("n")), value=_expression(F.col("src.n") + 1))
    update.assignments.add(key=_expression(F.expr("t.m")), value=_expression(F.expr("src.m")))
    command.match_actions.add().merge_action.action_type = pb2.MergeAction.ACTION_TYPE_DELETE
    command.not_matched_actions.add().merge_action.action_type = pb2.MergeAction.ACTION_TYPE_INSERT_STAR
    gone = command.not_matched_by_source_actions.add().merge_action
    gone.action_type = pb2.MergeAction.ACTION_TYPE_DELETE
    assert merge_text(command, "`v`") == (
        "MERGE WITH SCHEMA EVOLUTION INTO `s`.`t` USING `v` AS `src` ON (t.id = src.id) "
        "WHEN MATCHED AND (`src`.`n` > CAST('1' AS int)) THEN "
        "UPDATE SET `n` = (`src`.`n` + CAST('1' AS int)), `t`.`m` = (src.m) "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )


EXPRESSIONS = {
    "(`a` IS NULL)": F.col("a").isNull(),
    "(`a` IN (CAST('1' AS int), CAST('2' AS int)))": F.col("a").isin(1, 2),
    "CASE WHEN (`a` > CAST('1' AS int)) THEN CAST('x' AS string) ELSE `b` END": F.when(F.col("a") > 1, "x").otherwise(
        F.col("b")
    ),
    "((NOT `a`) AND (`b` OR `c`))": ~F.col("a") & (F.col("b") | F.col("c")),
    "upper(`a`)": F.upper("a"),
    "CAST(`a` AS decimal(10,2))": F.col("a").cast("decimal(10,2)"),
    "`m`[CAST('k' AS string)]": F.col("m")["k"],
    "(a + 1)": F.expr("a + 1"),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression_is_sql(text: str) -> None:
    assert expression_sql(_expression(EXPRESSIONS[text])) == text


def test_function_with_another_name_is_rejected() -> None:
    call = pb2.Expression(unresolved_function={"function_name": "f); DROP TABLE t; --"})
    with pytest.raises(ConnectFeatureNotSupported):
        expression_sql(call)
