"""Table properties: parsing, settings, and foreign values."""

from __future__ import annotations

import pytest

from catalog.conditions import InvalidTableProperty, PropertyNotSettable, UnknownTableProperty, UnsupportedClause
from engine.delta.spec import properties
from engine.delta.spec.properties import DAY_MS, HOUR_MS, Property, ensure_consistent, parse_interval_ms, parse_setting


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interval 30 days", 30 * DAY_MS),
        ("INTERVAL 1 WEEK", 7 * DAY_MS),
        ("1 week 12 hours", 7 * DAY_MS + 12 * HOUR_MS),
        ("interval 1 day -2 hours", 22 * HOUR_MS),
        ("1.5 seconds", 1500),
        ("0 days", 0),
        ("2500 microseconds", 2),
    ],
)
def test_an_interval_is_milliseconds(text: str, expected: int) -> None:
    assert parse_interval_ms(text) == expected


@pytest.mark.parametrize(
    "text", ["", "30", "days", "interval 1 month", "2 years", "-1 day", "1 day, 2 hours", "1 fortnight"]
)
def test_an_interval_of_no_fixed_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must|unit"):
        parse_interval_ms(text)


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("delta.appendOnly", "TRUE", ("delta.appendOnly", "TRUE")),
        ("DELTA.APPENDONLY", "false", ("delta.appendOnly", "false")),
        ("delta.columnMapping.mode", "NAME", ("delta.columnMapping.mode", "name")),
        ("delta.enableChangeDataCapture", "true", ("delta.enableChangeDataFeed", "true")),
        ("delta.logRetentionDuration", "interval 60 days", ("delta.logRetentionDuration", "interval 60 days")),
        ("delta.targetFileSize", "128mb", ("delta.targetFileSize", "128mb")),
        ("delta.dataSkippingStatsColumns", "a,b", ("delta.dataSkippingStatsColumns", "a,b")),
        ("delta.isolationLevel", "serializable", ("delta.isolationLevel", "Serializable")),
        ("owner", "  me ", ("owner", "  me ")),
        ("deltalake.x", "1", ("deltalake.x", "1")),
    ],
)
def test_a_setting_is_stored_in_the_spelling_of_the_log(key: str, value: str, stored: tuple[str, str]) -> None:
    assert parse_setting(key, value) == stored


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("delta.apendOnly", "true", UnknownTableProperty),
        ("delta.appendOnly", "yes", InvalidTableProperty),
        ("delta.checkpointInterval", "0", InvalidTableProperty),
        ("delta.checkpointInterval", "ten", InvalidTableProperty),
        ("delta.checkpointPolicy", "v3", InvalidTableProperty),
        ("delta.deletedFileRetentionDuration", "1 month", InvalidTableProperty),
        ("delta.dataSkippingNumIndexedCols", "-2", InvalidTableProperty),
        ("delta.targetFileSize", "0", InvalidTableProperty),
        ("delta.isolationLevel", "WriteSerializable", InvalidTableProperty),
        ("delta.columnMapping.maxColumnId", "5", PropertyNotSettable),
        ("delta.inCommitTimestampEnablementVersion", "5", PropertyNotSettable),
    ],
)
def test_a_setting_that_cannot_be_is_refused(key: str, value: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_setting(key, value)


def test_an_unknown_key_names_the_nearest_one() -> None:
    with pytest.raises(UnknownTableProperty, match=r"delta\.appendOnly"):
        parse_setting("delta.apendOnly", "true")


@pytest.mark.parametrize("key", ["delta.universalFormat.enabledFormats", "DELTA.UNIVERSALFORMAT.configuredFormats"])
def test_uniform_is_rejected_with_iceberg_tables_as_alternative(key: str) -> None:
    with pytest.raises(UnsupportedClause, match=r"CREATE TABLE … USING iceberg"):
        parse_setting(key, "iceberg")


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        (properties.CHECKPOINT_INTERVAL, None, 10),
        (properties.CHECKPOINT_INTERVAL, "3", 3),
        (properties.CHECKPOINT_INTERVAL, "soon", 10),
        (properties.STATS_AS_STRUCT, None, True),
        (properties.DELETED_FILE_RETENTION, None, 7 * DAY_MS),
        (properties.LOG_RETENTION, None, 30 * DAY_MS),
        (properties.SET_TRANSACTION_RETENTION, None, None),
        (properties.COLUMN_MAPPING_MODE, "id", "id"),
    ],
    ids=lambda value: getattr(value, "key", str(value)),
)
def test_a_tuning_value_that_cannot_be_read_is_the_default(
    key: Property[object], text: str | None, expected: object
) -> None:
    assert key.read({key.key: text} if text else {}) == expected


@pytest.mark.parametrize(
    "key", [properties.APPEND_ONLY, properties.COLUMN_MAPPING_MODE, properties.DELETED_FILE_RETENTION]
)
def test_a_value_that_must_not_be_misread_is_refused(key: Property[object]) -> None:
    with pytest.raises(InvalidTableProperty):
        key.read({key.key: "perhaps"})


def test_the_log_outlives_the_tombstones() -> None:
    ensure_consistent({"delta.logRetentionDuration": "7 days"})
    with pytest.raises(InvalidTableProperty, match="deletedFileRetention"):
        ensure_consistent({"delta.logRetentionDuration": "6 days"})
