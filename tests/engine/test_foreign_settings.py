"""Settings that clients bring from other systems: stored, shown, and read by nothing but Hive's variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.conditions import TransactionsNotSupported
from catalog.errors import SqlError
from engine.runtime.foreign_settings import FOREIGN_BYTES_MAX, FOREIGN_MAX
from engine.runtime.settings import opening_settings
from tests.engine.bare_lake import BareLake


@pytest.fixture
def lake(tmp_path: Path) -> BareLake:
    return BareLake(tmp_path)


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        ("SET hive.exec.dynamic.partition.mode=nonstrict", ("hive.exec.dynamic.partition.mode", "nonstrict")),
        ("SET mapred.job.name = it's mine", ("mapred.job.name", "it's mine")),
        ("SET mapreduce.job.queuename=etl", ("mapreduce.job.queuename", "etl")),
        ("SET hivevar:day = 2024-01-01", ("hivevar:day", "2024-01-01")),
        ("SET enable_photon=true", ("enable_photon", "true")),
        ("SET query_tags = 'team:a'", ("query_tags", "'team:a'")),
        ("SET MEM_LIMIT = 2g", ("MEM_LIMIT", "2g")),
        ("SET idle_session_timeout=60", ("idle_session_timeout", "60")),
        ("SET airflow.ctx.dag_id=daily", ("airflow.ctx.dag_id", "daily")),
        (
            "SET airflow.ctx.dag_run_id=manual__2024-01-01T00:00:00+00:00",
            ("airflow.ctx.dag_run_id", "manual__2024-01-01T00:00:00+00:00"),
        ),
        ("SET livy.session.name=a", ("livy.session.name", "a")),
        ("SET nope = 1", ("nope", "1")),
    ],
)
def test_foreign_setting_is_stored_and_shown(lake: BareLake, text: str, remaining: tuple[str, str]) -> None:
    key = text.removeprefix("SET ").split("=")[0].strip()
    assert lake.rows(f"SET {key}") == [(remaining[0], "<undefined>")]
    assert lake.rows(text) == [remaining]
    assert lake.rows(f"SET {key}") == [remaining] and lake.rows("SET") == [remaining]
    lake.answer(f"RESET {key}")
    assert lake.rows("SET") == []


@pytest.mark.parametrize(
    ("text", "shown", "key"),
    [
        ("SET STATEMENT_TIMEOUT = 30", ("STATEMENT_TIMEOUT", "30"), "gateway.statement.timeout"),
        ("SET timezone = 'Europe/Berlin'", ("timezone", "Europe/Berlin"), "spark.sql.session.timeZone"),
        ("SET ANSI_MODE = false", ("ANSI_MODE", "false"), "spark.sql.ansi.enabled"),
        ("SET USE_CACHED_RESULT = false", ("USE_CACHED_RESULT", "false"), "gateway.result_cache"),
        ("SET AUTOCOMMIT = TRUE", ("autocommit", "true"), "autocommit"),
        ("SET autocommit = 1", ("autocommit", "true"), "autocommit"),
        ("SET AutoCommit = 'on'", ("autocommit", "true"), "autocommit"),
    ],
)
def test_a_parameter_of_databricks_sets_its_counterpart(
    lake: BareLake, text: str, shown: tuple[str, str], key: str
) -> None:
    """Databricks' clients look for the parameter under the name that they have written."""
    assert lake.rows(text) == [shown] == lake.rows(text.partition(" =")[0])
    assert lake.rows("SET") == [(key, shown[1])] == lake.rows(f"SET {key}")
    lake.answer(f"RESET {text.split()[1]}")
    assert lake.rows("SET") == []


@pytest.mark.parametrize("value", ["FALSE", "false", "0", "off", "'false'"])
def test_autocommit_off_is_rejected_since_transactions_are_not_supported(lake: BareLake, value: str) -> None:
    error = lake.refuse(f"SET AUTOCOMMIT = {value}")
    assert (error.condition, error.sqlstate) == ("UNSUPPORTED_FEATURE.MULTI_STATEMENT_TRANSACTION", "0A000")
    assert "transactions over several statements are not supported" in str(error)
    assert lake.rows("SET AUTOCOMMIT") == [("autocommit", "true")]
    assert lake.refuse("SET AUTOCOMMIT = maybe").condition == "INVALID_CONF_VALUE"
    with pytest.raises(TransactionsNotSupported):
        opening_settings({"autocommit": value})


@pytest.mark.parametrize(
    "text",
    [
        *("SET spark.sql.nope = 1", "SET spark.hadoop.hive.x = 1", "SET STATEMENT_TIMEOUT = soon"),
        *("SET spark.driver.memory = 1g", "SET Spark.app.name = x", "SET spark.sql.warehouse.dir = /tmp"),
        *("SET delta.appendOnly = true", "SET fs.s3a.access.key = x", "SET hadoop.security.x = 1", "SET dfs.x = 1"),
        *("SET javax.jdo.x = 1", "SET java.io.tmpdir = /tmp", "SET env:HOME = /", "SET system:user.name = x"),
        *("SET gateway.result_cahe = on", "RESET spark.driver.memory", "SET spark.driver.memory"),
    ],
)
def test_reserved_setting_is_rejected(lake: BareLake, text: str) -> None:
    expected = "INVALID_CONF_VALUE" if text.endswith(" = soon") else "CONFIG_NOT_AVAILABLE"
    assert lake.refuse(text).condition == expected


def test_foreign_settings_are_bounded(lake: BareLake) -> None:
    value = "é" * ((FOREIGN_BYTES_MAX - len("hive.x")) // 2)
    assert lake.rows(f"SET hive.x = {value}") == [("hive.x", value)]
    assert lake.refuse(f"SET hive.x = {value}xx").condition == "INVALID_CONF_VALUE"
    lake.answer("RESET")
    for number in range(FOREIGN_MAX):
        lake.answer(f"SET hive.x{number} = 1")
    assert lake.refuse("SET hive.more = 1").condition == "CONFIG_NOT_AVAILABLE.TOO_MANY"
    assert lake.rows("SET hive.x0 = 2") == [("hive.x0", "2")]
    lake.answer("SET spark.sql.ansi.enabled = false")
    lake.answer("RESET hive.x0")
    assert lake.rows("SET hive.more = 1") == [("hive.more", "1")]
    lake.answer("RESET")
    assert lake.rows("SET") == []


def test_a_session_opens_with_settings_of_spark_that_have_no_effect() -> None:
    without_effect = (
        *("fs.s3a.endpoint", "java.io.tmpdir", "spark.app.name", "spark.driver.memory", "spark.executor.instances"),
        *("spark.master", "spark.sql.catalogImplementation", "spark.sql.warehouse.dir"),
        "spark.yarn.queue",
    )
    remaining = {"a": "1", "livy.session.name": "s", "hivevar:x": "5", "spark.sql.ansi.enabled": "false"}
    opened = opening_settings({**dict.fromkeys(without_effect, "x"), **remaining})
    assert opened == (remaining, tuple(sorted((*without_effect, "livy.session.name"))))


def test_settings_of_hive_are_variables_and_have_no_effect() -> None:
    settings = {"hiveconf:a": "1", "hiveconf:spark.sql.ansi.enabled": "false", "hivevar:x": "5"}
    values = {"a": "1", "spark.sql.ansi.enabled": "false", "hivevar:x": "5"}
    assert opening_settings({**settings, "hiveconf:spark.app.name": "a"}) == (values, ("a", "spark.app.name"))


@pytest.mark.parametrize(
    ("settings", "condition"),
    [
        ({"spark.sql.nope": "1"}, "CONFIG_NOT_AVAILABLE"),
        ({"spark.nope": "1"}, "CONFIG_NOT_AVAILABLE"),
        ({"spark.jars": "x.jar"}, "CONFIG_NOT_AVAILABLE"),
        ({"spark.drivers.memory": "1"}, "CONFIG_NOT_AVAILABLE"),
        ({"spark.sql.optimizer.excludedRules": "x"}, "CONFIG_NOT_AVAILABLE"),
        ({"delta.appendOnly": "true"}, "CONFIG_NOT_AVAILABLE"),
        ({"spark.sql.ansi.enabled": "perhaps"}, "INVALID_CONF_VALUE"),
        ({"hivevar:x": "x" * FOREIGN_BYTES_MAX}, "INVALID_CONF_VALUE"),
        ({f"k{number}": "" for number in range(FOREIGN_MAX + 1)}, "CONFIG_NOT_AVAILABLE.TOO_MANY"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_a_session_does_not_open_with_settings_that_might_matter(settings: dict[str, str], condition: str) -> None:
    with pytest.raises(SqlError) as caught:
        opening_settings(settings)
    assert caught.value.condition == condition
