"""Settings that clients bring from other systems: taken, shown, and without effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.runtime.foreign_settings import FOREIGN_MAX, VALUE_CHARACTERS_MAX
from tests.engine.bare_lake import BareLake


@pytest.fixture
def lake(tmp_path: Path) -> BareLake:
    return BareLake(tmp_path)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SET hive.exec.dynamic.partition.mode=nonstrict", ("hive.exec.dynamic.partition.mode", "nonstrict")),
        ("SET mapred.job.name = it's mine", ("mapred.job.name", "it's mine")),
        ("SET mapreduce.job.queuename=etl", ("mapreduce.job.queuename", "etl")),
        ("SET hivevar:day = 2024-01-01", ("hivevar:day", "2024-01-01")),
        ("SET enable_photon=true", ("enable_photon", "true")),
        ("SET query_tags = 'team:a'", ("query_tags", "'team:a'")),
        ("SET MEM_LIMIT = 2g", ("mem_limit", "2g")),
    ],
)
def test_a_foreign_setting_is_kept_and_shown(lake: BareLake, text: str, kept: tuple[str, str]) -> None:
    key = text.removeprefix("SET ").split("=")[0].strip()
    assert lake.rows(f"SET {key}") == [(kept[0], "<undefined>")]
    assert lake.rows(text) == [kept]
    assert lake.rows(f"SET {key}") == [kept] and lake.rows("SET") == [kept]
    lake.answer(f"RESET {key}")
    assert lake.rows("SET") == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SET STATEMENT_TIMEOUT = 30", ("gateway.statement.timeout", "30")),
        ("SET timezone = 'Europe/Berlin'", ("spark.sql.session.timeZone", "Europe/Berlin")),
        ("SET ANSI_MODE = false", ("spark.sql.ansi.enabled", "false")),
        ("SET USE_CACHED_RESULT = false", ("gateway.result_cache", "false")),
    ],
)
def test_a_parameter_of_databricks_sets_its_counterpart(lake: BareLake, text: str, shown: tuple[str, str]) -> None:
    assert lake.rows(text) == [shown] == lake.rows("SET")
    lake.answer(f"RESET {text.split()[1]}")
    assert lake.rows("SET") == []


@pytest.mark.parametrize(
    "text", ["SET spark.sql.nope = 1", "SET spark.hadoop.hive.x = 1", "SET nope = 1", "SET STATEMENT_TIMEOUT = soon"]
)
def test_what_might_have_mattered_is_refused(lake: BareLake, text: str) -> None:
    assert lake.refuse(text).condition in ("CONFIG_NOT_AVAILABLE", "INVALID_CONF_VALUE")


def test_what_a_session_keeps_is_bounded(lake: BareLake) -> None:
    assert lake.refuse(f"SET hive.x = {'x' * (VALUE_CHARACTERS_MAX + 1)}").condition == "INVALID_CONF_VALUE"
    for number in range(FOREIGN_MAX):
        lake.answer(f"SET hive.x{number} = 1")
    assert lake.refuse("SET hive.more = 1").condition == "CONFIG_NOT_AVAILABLE.TOO_MANY"
    assert lake.rows("SET hive.x0 = 2") == [("hive.x0", "2")]
    lake.answer("SET spark.sql.ansi.enabled = false")
