"""Settings that a session may change, and their values."""

from __future__ import annotations

import pytest

from catalog.conditions import InvalidSettingValue, SettingNotAvailable
from engine.formats.delta.planning.default_settings import DEFAULT_SETTINGS
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from engine.runtime.settings import SETTINGS, declare_settings, find_setting, parse_setting

declare_settings(DEFAULT_SETTINGS)


@pytest.mark.parametrize(
    ("key", "value", "canonical"),
    [
        ("spark.sql.ansi.enabled", "FALSE", "false"),
        ("SPARK.SQL.ANSI.ENABLED", " true ", "true"),
        ("ansi_mode", "true", "true"),
        ("timezone", "Europe/Berlin", "Europe/Berlin"),
        ("TIMEZONE", "'Europe/Berlin'", "Europe/Berlin"),
        ("Statement_Timeout", '"30"', "30"),
        ("LEGACY_TIME_PARSER_POLICY", "corrected", "CORRECTED"),
        ("spark.sql.session.timeZone", "+02:00", "+02:00"),
        ("spark.sql.session.timeZone", "-8:30", "-8:30"),
        ("spark.sql.shuffle.partitions", "3", "3"),
        ("spark.sql.autoBroadcastJoinThreshold", "-1", "-1"),
        ("spark.sql.autoBroadcastJoinThreshold", "10MB", "10mb"),
        ("spark.sql.storeAssignmentPolicy", "ansi", "ANSI"),
        ("gateway.statement.timeout", "30", "30"),
        ("spark.sql.groupByAliases", "False", "false"),
        ("spark.sql.cteRecursionLevelLimit", "100000", "100000"),
        ("spark.sql.binaryOutputStyle", "hex_discrete", "HEX_DISCRETE"),
        ("gateway.statement.timeout", "0", "0"),
        ("gateway.statement.timeout", "9999999", "9999999"),
        ("spark.sql.shuffle.partitions", "100000", "100000"),
        ("spark.sql.autoBroadcastJoinThreshold", "256mb", "256mb"),
        ("spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold", "20GB", "20gb"),
        ("spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold", "0", "0"),
        ("spark.sql.autoBroadcastJoinThreshold", "268435456b", "268435456b"),
        ("spark.sql.autoBroadcastJoinThreshold", "0", "0"),
        ("spark.databricks.delta.write.txnVersion", "9223372036854775807", "9223372036854775807"),
        ("spark.databricks.delta.properties.defaults.minReaderVersion", "3", "3"),
        ("spark.databricks.delta.properties.defaults.minWriterVersion", "7", "7"),
        ("spark.sql.session.timeZone", "+18:00", "+18:00"),
        ("spark.sql.session.timeZone", "-8:5", "-8:5"),
    ],
)
def test_allowed_values_take_their_canonical_spelling(key: str, value: str, canonical: str) -> None:
    assert parse_setting(key, value)[1] == canonical


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.ansi.enabled", "maybe"),
        ("spark.sql.session.timeZone", "Mars/Olympus"),
        ("spark.sql.session.timeZone", "../../etc/passwd"),
        ("spark.sql.shuffle.partitions", "0"),
        ("spark.sql.shuffle.partitions", "1e9"),
        ("spark.sql.storeAssignmentPolicy", "LOOSE"),
        ("gateway.statement.timeout", "-1"),
        ("spark.sql.orderByOrdinal", "1"),
        ("spark.sql.cteRecursionLevelLimit", "-1"),
        ("spark.sql.cteRecursionRowLimit", "1000000001"),
        ("spark.sql.legacy.ctePrecedencePolicy", "OLD"),
        ("gateway.statement.timeout", "10000000"),
        ("spark.sql.shuffle.partitions", "100001"),
        ("spark.sql.shuffle.partitions", "999999999"),
        ("spark.sql.shuffle.partitions", "-1"),
        ("spark.sql.autoBroadcastJoinThreshold", "-2"),
        ("spark.sql.autoBroadcastJoinThreshold", "268435457"),
        ("spark.sql.autoBroadcastJoinThreshold", "1g"),
        ("spark.sql.autoBroadcastJoinThreshold", "999999999999999t"),
        ("spark.databricks.delta.write.txnVersion", "9223372036854775808"),
        ("spark.databricks.delta.properties.defaults.minReaderVersion", "4"),
        ("spark.databricks.delta.properties.defaults.minWriterVersion", "8"),
        ("spark.databricks.delta.properties.defaults.minWriterVersion", "0"),
        ("spark.sql.session.timeZone", "+18:30"),
        ("spark.sql.session.timeZone", "+8:5:30"),
    ],
)
def test_invalid_setting_values_are_rejected(key: str, value: str) -> None:
    with pytest.raises(InvalidSettingValue) as caught:
        parse_setting(key, value)
    assert value in caught.value.full_message and caught.value.sqlstate == "22022"


@pytest.mark.parametrize(
    "key",
    [
        "spark.jars",
        "spark.sql.warehouse.dir",
        "spark.sql.variable.substitute",
        "spark.sql.caseSensitive",
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.parser.escapedStringLiterals",
        "spark.sql.parser.quotedRegexColumnNames",
        "spark.sql.legacy.consecutiveStringLiterals.enabled",
        "spark.sql.timestampType",
        "spark.sql.optimizer.excludedRules",
        "spark.sql.analyzer.singlePassResolver.enabled",
        "spark.sql.runSQLOnFiles",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.sql.catalog.x",
        "delta.anything",
        "",
    ],
)
def test_a_setting_off_the_list_is_refused_by_name(key: str) -> None:
    with pytest.raises(SettingNotAvailable) as caught:
        find_setting(key)
    assert caught.value.condition == "CONFIG_NOT_AVAILABLE"
    assert key in caught.value.full_message


def test_a_near_miss_names_the_setting_that_was_meant() -> None:
    with pytest.raises(SettingNotAvailable, match=r"Did you mean spark\.sql\.ansi\.enabled\?"):
        find_setting("spark.sql.ansi.enable")


def test_a_state_changes_only_by_making_another() -> None:
    first = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
    second = first.with_value("spark.sql.ansi.enabled", "false").with_value("gateway.statement.timeout", "5")
    assert first.value("spark.sql.ansi.enabled") is None
    assert second.value("spark.sql.ansi.enabled") == "false"
    assert second.without("spark.sql.ansi.enabled").values == {"gateway.statement.timeout": "5"}
    assert second.without(None).values == {}
    assert second.without(None).value("gateway.statement.timeout") == "0"


def test_every_default_is_a_value_its_own_row_allows() -> None:
    rows = [row for row in SETTINGS.values() if row.default is not None]
    assert rows
    for row in rows:
        assert row.default is not None and row.check(row.default) == row.default, row.key
