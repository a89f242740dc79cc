"""Settings of sessions for properties of new Delta tables: `spark.databricks.delta.properties.defaults.…`."""

from __future__ import annotations

from catalog.errors import SqlError
from engine.delta.spec.properties import (
    DEFAULTS_PREFIX,
    DELTA_PREFIX,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    PROPERTIES,
    parse_setting,
)
from engine.runtime.settings import Setting, Whole


def _table_default(key: str) -> Setting:
    def check(value: str) -> str | None:
        try:
            return parse_setting(key, value)[1]
        except SqlError:
            return None

    return Setting(
        key=DEFAULTS_PREFIX + key.removeprefix(DELTA_PREFIX),
        doc=f"The table property {key} of tables that this session makes.",
        check=check,
        expected=f"a value of the table property {key}",
        is_spark=False,
    )


def _version_default(key: str, versions: Whole) -> Setting:
    return Setting(
        key=DEFAULTS_PREFIX + key.removeprefix(DELTA_PREFIX),
        doc=f"The least {key} of tables that this session makes.",
        check=versions,
        expected=f"{versions.expected}, a version of the protocol,",
        is_spark=False,
    )


DEFAULT_SETTINGS = (
    _version_default(MIN_READER_VERSION, Whole(1, 3)),
    _version_default(MIN_WRITER_VERSION, Whole(1, 7)),
    *(_table_default(key) for key, known in sorted(PROPERTIES.items()) if known.settable),
)
