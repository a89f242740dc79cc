"""Session settings with default properties for new Delta tables: `spark.databricks.delta.properties.defaults.…`."""

from __future__ import annotations

from catalog.errors import SqlError
from engine.delta.spec.features import FEATURES
from engine.delta.spec.properties import (
    DEFAULTS_PREFIX,
    DELTA_PREFIX,
    FEATURE_PREFIX,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    PROPERTIES,
    Property,
    format_default,
    parse_setting,
)
from engine.runtime.settings import Setting, Whole


def _setting_key(key: str) -> str:
    return DEFAULTS_PREFIX + key.removeprefix(DELTA_PREFIX)


def _table_default(known: Property[object]) -> Setting:
    def check(value: str) -> str | None:
        try:
            return parse_setting(known.key, value)[1]
        except SqlError:
            return None

    return Setting(
        key=_setting_key(known.key),
        doc=f"The table property {known.key} of tables that this session creates.",
        check=check,
        expected=f"a value of the table property {known.key}",
        default=format_default(known),
        is_spark=False,
    )


def _version_default(key: str, versions: Whole, shown: str) -> Setting:
    return Setting(
        key=_setting_key(key),
        doc=f"The lowest {key} of tables that this session creates.",
        check=versions,
        expected=f"{versions.expected}, a version of the protocol,",
        default=shown,
        is_spark=False,
    )


def _feature_default(name: str) -> Setting:
    return Setting(
        key=_setting_key(FEATURE_PREFIX + name),
        doc=f"Whether tables that this session creates support the table feature {name}.",
        check=lambda value: "supported" if value.lower() in ("supported", "enabled") else None,
        expected="supported or enabled",
        is_spark=False,
    )


DEFAULT_SETTINGS = (
    _version_default(MIN_READER_VERSION, Whole(1, 3), "1"),
    _version_default(MIN_WRITER_VERSION, Whole(1, 7), "2"),
    *(_table_default(known) for _, known in sorted(PROPERTIES.items()) if known.settable),
    *(_feature_default(name) for name in sorted(FEATURES)),
)
