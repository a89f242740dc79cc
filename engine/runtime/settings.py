"""The settings that a session may change, as a table; any other setting is rejected with an error that names it.

Settings of other programs (`foreign_settings.py`) are stored as text without effect.

`SET spark.…` can reach the machine (files, classes, jobs of others), so this is an allow-list: a key is in it because
changing it in one session only changes that session's own answers or speed. Names are Spark's where Spark has the
setting, so that clients that send them (dbt, JDBC URLs, notebooks) find them; the gateway's own names begin with
`gateway.`. The range of a number has only values that queries can use, because a value that makes each later query fail
is useless.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from catalog.conditions import (
    InvalidSettingValue,
    SettingNotAvailable,
    TooManyForeignSettings,
    TransactionsNotSupported,
)
from catalog.errors import ECHO_MAX
from engine.runtime import query_settings
from engine.runtime.foreign_settings import (
    FOREIGN_BYTES_MAX,
    FOREIGN_MAX,
    HIVECONF,
    is_livy,
    is_reserved,
    is_without_effect,
)
from engine.runtime.trace_parent import trace_parent_of

# Name and description.
RULES = (
    ("largeInLists", "IN with 1,000 literals or more is analyzed as a set of values."),
    ("scanStatistics", "Joins are ordered and broadcast by the statistics that the log has for the remaining files."),
    ("dictionarySizes", "Joins are also ordered by distinct counts from dictionaries of Parquet files."),
    ("unscaledDecimalAggregates", "Sums and averages of decimals are computed with longs."),
    ("semiJoinReduction", "Groups that are joined with few keys are computed for these keys only."),
    ("broadcastSelection", "Joins broadcast a side with small files whose estimated size in memory is larger."),
    ("limitPruning", "LIMIT without ORDER BY reads only files that have enough rows."),
    ("mixedPartitionFilters", "Files are pruned by conditions on partition columns and others together."),
    ("unscaledDecimalComparisons", "Filters compare decimals of up to 18 digits as longs."),
    ("fullSamples", "A view with a barrier draws no random numbers."),
    ("singleTaskHashJoin", "Joins of a query that runs in one task are hash joins without a broadcast."),
    ("singlePartitionExchanges", "Rows that are all in one partition are not exchanged."),
    ("pointLookups", "Lookups by values of a column run without generated code."),
    (
        "vectorizedAggregates",
        "Sums, counts, averages and extremes of columns are aggregated by batches, without generated code.",
    ),
    ("dynamicFilePruning", "Files are pruned by the keys of a broadcast side of a join."),
    ("singleTaskExecution", "A query that reads a few megabytes runs in one task."),
    ("staticPlans", "Small queries run without adaptive execution, and their exchanges have few partitions."),
    ("interpretedPlans", "Plans with more than 4,000 expressions over few bytes run without generated code."),
    ("planCache", "Plans of repeated statements are cached."),
    ("columnCache", "Decoded columns of local data files are cached."),
)


def rule_setting(name: str) -> str:
    """Returns the setting that switches a rule."""
    return f"spark.gateway.optimizer.{name}.enabled"


# Converts a value's text to its canonical spelling, or returns None if it is invalid.
Check = Callable[[str], str | None]


def _boolean(value: str) -> str | None:
    return value.lower() if value.lower() in ("true", "false") else None


@dataclass(frozen=True, slots=True)
class Whole:
    """A check for integers from `low` to `high`, and its description."""

    low: int
    high: int

    def __call__(self, value: str) -> str | None:
        return value if re.fullmatch(r"0|[1-9][0-9]{0,18}", value) and self.low <= int(value) <= self.high else None

    @property
    def expected(self) -> str:
        """Returns the description of valid values for error messages."""
        return f"a whole number from {self.low} to {self.high}"


_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}
# Bytes. Broadcast tables are in the heap that all sessions share.
_BROADCAST_MAX = 256 << 20


def _bytes_of(value: str) -> int | None:
    found = re.fullmatch(r"([0-9]{1,15})(?:([kmgt])b?|b)?", value.lower())
    return None if found is None else int(found[1]) << _UNITS[found[2] or ""]


def _broadcast_size(value: str) -> str | None:
    size = _bytes_of(value)
    if size is None:
        return value if value == "-1" else None
    return value.lower() if size <= _BROADCAST_MAX else None


def _scan_size(value: str) -> str | None:
    size = _bytes_of(value)
    return None if size is None or size >= 1 << 63 else value.lower()


# An offset as Java parses it, after Spark added a zero to a single digit.
_OFFSET = re.compile(r"[+-]((0?[0-9]|1[0-7]):([0-5]?[0-9]|[0-5][0-9]:[0-5][0-9])|18:00?(:00)?)")


def _time_zone(value: str) -> str | None:
    if _OFFSET.fullmatch(value) or value in ("Z", "UTC"):
        return value
    return value if value in zoneinfo.available_timezones() else None


_SWITCH = {"on": "true", "off": "false"}


def _switch(value: str) -> str | None:
    return _boolean(_SWITCH.get(value.lower(), value))


def _autocommit(value: str) -> str | None:
    """Raises `TransactionsNotSupported` for the value that would start transactions."""
    is_on = _switch({"1": "true", "0": "false"}.get(value, value))
    if is_on == "false":
        raise TransactionsNotSupported()
    return is_on


def _text(value: str) -> str | None:
    return value or None


def _enum_check(*choices: str) -> Check:
    def check(value: str) -> str | None:
        return value.upper() if value.upper() in choices else None

    return check


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of :data:`SETTINGS`. `default` is None if Spark or the server has the default. Only administrators may
    change one that `requires_admin`.
    """

    key: str
    doc: str
    check: Check
    expected: str
    default: str | None = None
    is_spark: bool = True
    requires_admin: bool = False


def _limit(key: str, doc: str, check: Whole) -> Setting:
    return Setting(key=key, doc=doc, check=check, expected=check.expected)


def _option(key: str, doc: str, choices: tuple[str, ...]) -> Setting:
    return Setting(key=key, doc=doc, check=_enum_check(*choices), expected=f"one of {', '.join(choices)}")


def _flag(key: str, doc: str, default: str | None = None, *, is_spark: bool = True) -> Setting:
    return Setting(key=key, doc=doc, check=_boolean, expected="true or false", default=default, is_spark=is_spark)


TXN_APP_ID, TXN_VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
TRACE_PARENT = "traceparent"
HIVE_SHAPE = "gateway.show_tables.hive_shape"
TIME_ZONE = "spark.sql.session.timeZone"
RESULT_CACHE = "gateway.result_cache"
ALLOW_OUTSIDE = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"

_PARTITIONS = Whole(1, 100_000)
_TIMEOUT_S = Whole(0, 9_999_999)
_TXN_VERSION = Whole(0, 2**63 - 1)

_ROWS = (
    _flag("spark.sql.ansi.enabled", "Errors instead of nulls on overflow, bad casts and bad indexes."),
    Setting(
        key=TIME_ZONE,
        doc="The zone in which timestamps are read and shown.",
        check=_time_zone,
        expected="a region such as Europe/Berlin, or an offset such as +02:00",
    ),
    Setting(
        key="spark.sql.shuffle.partitions",
        doc="Partitions of a join or an aggregation before they are coalesced. Unset: 32, or 1 to 4 for a small query.",
        check=_PARTITIONS,
        expected=_PARTITIONS.expected,
    ),
    Setting(
        key="spark.sql.autoBroadcastJoinThreshold",
        doc="Tables up to this size are sent whole to each task of a join; -1 never.",
        check=_broadcast_size,
        expected="a size up to 256MB such as 10485760 or 10MB, or -1",
    ),
    Setting(
        key="spark.sql.mapKeyDedupPolicy",
        doc="What a map with the same key twice does.",
        check=_enum_check("EXCEPTION", "LAST_WIN"),
        expected="EXCEPTION or LAST_WIN",
    ),
    Setting(
        key="spark.sql.storeAssignmentPolicy",
        doc="Casts of written values: ANSI with errors for wrong ones, STRICT none that may lose, LEGACY with nulls.",
        check=_enum_check("ANSI", "STRICT", "LEGACY"),
        expected="ANSI, STRICT or LEGACY",
    ),
    Setting(
        key="spark.sql.sources.partitionOverwriteMode",
        doc="Whether INSERT OVERWRITE replaces the whole table or the partitions it writes.",
        check=_enum_check("STATIC", "DYNAMIC"),
        expected="STATIC or DYNAMIC",
    ),
    Setting(
        key="spark.sql.legacy.timeParserPolicy",
        doc="How date patterns are parsed.",
        check=_enum_check("EXCEPTION", "CORRECTED", "LEGACY"),
        expected="EXCEPTION, CORRECTED or LEGACY",
    ),
    _flag("spark.sql.adaptive.enabled", "Replan a query from the sizes seen while it runs. Unset: where that can pay."),
    _flag("spark.sql.adaptive.coalescePartitions.enabled", "Join small shuffle partitions."),
    _flag("spark.sql.adaptive.skewJoin.enabled", "Split skewed partitions of a join."),
    _flag("spark.sql.cbo.enabled", "Plan joins by cost, as queries do unless this is set to false."),
    _flag("spark.sql.crossJoin.enabled", "Allow joins without a condition."),
    _flag(
        "spark.sql.optimizer.dynamicPartitionPruning.enabled",
        "Leave out partitions and files by the other side of a join.",
    ),
    Setting(
        key="spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold",
        doc="Rows of this many bytes of files or more, before they are shuffled, are looked up in a Bloom filter of the"
        " keys that they are joined with. Unset: 10GB; it pays where few of many groups are joined.",
        check=_scan_size,
        expected="a size such as 104857600 or 100MB",
    ),
    _flag("spark.sql.join.preferSortMergeJoin", "Prefer sort-merge joins to shuffled hash joins."),
    _flag(
        ALLOW_OUTSIDE,
        "table_changes answers no rows for a start after the latest version, instead of an error.",
        "false",
        is_spark=False,
    ),
    _flag(
        AUTO_MERGE,
        "INSERT adds the columns of its query that the table lacks, as INSERT WITH SCHEMA EVOLUTION does.",
        "false",
        is_spark=False,
    ),
    _flag(
        RETENTION_CHECK,
        "VACUUM refuses to RETAIN files for a shorter time than the table's delta.deletedFileRetentionDuration.",
        "true",
        is_spark=False,
    ),
    Setting(
        key=TXN_APP_ID,
        doc="Who numbers the session's INSERTs; with a version, one that the table has already is left out.",
        check=_text,
        expected="a text",
        is_spark=False,
    ),
    Setting(
        key=TXN_VERSION,
        doc="The number of the next INSERT of the application: a greater one for each.",
        check=_TXN_VERSION,
        expected=_TXN_VERSION.expected,
        is_spark=False,
    ),
    Setting(
        key="gateway.statement.timeout",
        doc="Seconds after which a statement is ended; 0 never. The server's own limit stays. Also STATEMENT_TIMEOUT.",
        check=_TIMEOUT_S,
        expected=f"{_TIMEOUT_S.expected}, of seconds,",
        default="0",
        is_spark=False,
    ),
    Setting(
        key=RESULT_CACHE,
        doc="Whether queries may be answered from the server's result cache, if it has one. Also USE_CACHED_RESULT.",
        check=_switch,
        expected="on or off",
        default="true",
        is_spark=False,
    ),
    Setting(
        key=TRACE_PARENT,
        doc="The span of the client that the traces of the session's statements belong to, as of W3C Trace Context.",
        check=trace_parent_of,
        expected="a traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01,",
        is_spark=False,
    ),
    Setting(
        key="autocommit",
        doc="Each statement is committed by itself; drivers set this to true, and nothing else is supported.",
        check=_autocommit,
        expected="true",
        default="true",
        is_spark=False,
    ),
    _flag(
        HIVE_SHAPE,
        "SHOW TABLES, VIEWS and PARTITIONS answer Hive's one column, and no query is described: for clients of Hive.",
        "false",
        is_spark=False,
    ),
)

_QUERY_ROWS = (
    *(_flag(key, doc) for key, doc in query_settings.FLAGS),
    *(_limit(key, doc, Whole(smallest, most)) for key, doc, smallest, most in query_settings.LIMITS),
    *(_option(key, doc, choices) for key, doc, choices in query_settings.CHOICES),
)

_RULE_ROWS = tuple(
    Setting(
        key=rule_setting(name),
        doc=f"{doc} For administrators.",
        check=_boolean,
        expected="true or false",
        requires_admin=True,
    )
    for name, doc in RULES
)

# Spark settings that do not change the value of an expression: query planning, limits, writing.
_PLANNING = frozenset(
    {
        *(row.key for row in _RULE_ROWS),
        "spark.sql.adaptive.coalescePartitions.enabled",
        "spark.sql.adaptive.enabled",
        "spark.sql.adaptive.skewJoin.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.cbo.enabled",
        "spark.sql.codegen.wholeStage",
        "spark.sql.constraintPropagation.enabled",
        "spark.sql.crossJoin.enabled",
        "spark.sql.cteRecursionAnchorRowsLimitToConvertToLocalRelation",
        "spark.sql.cteRecursionLevelLimit",
        "spark.sql.cteRecursionRowLimit",
        "spark.sql.join.preferSortMergeJoin",
        "spark.sql.leafNodeDefaultParallelism",
        "spark.sql.maxMetadataStringLength",
        "spark.sql.optimizer.disableHints",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold",
        "spark.sql.optimizer.optimizeUncorrelatedInSubqueriesInJoinCondition.enabled",
        "spark.sql.pivotMaxValues",
        "spark.sql.shuffle.partitions",
        "spark.sql.sources.partitionOverwriteMode",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.subexpressionElimination.enabled",
    }
)


def captured_settings(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Returns the settings of a session that a view, function, constraint or generated column keeps when it is created.

    These are Spark's settings that the session has changed and that may change the value of an expression, sorted by
    key. All others have the server's values whenever the object is used.
    """
    return tuple(
        sorted((key, value) for key, value in values.items() if key not in _PLANNING and find_setting(key).is_spark)
    )


_rows = {row.key.lower(): row for row in (*_ROWS, *_QUERY_ROWS, *_RULE_ROWS)}

# All settings by lower-case key, including those of the server's table formats.
SETTINGS: Mapping[str, Setting] = MappingProxyType(_rows)


def declare_settings(rows: Iterable[Setting]) -> None:
    """Adds the settings of a table format, for example defaults of its properties, when the engine is assembled."""
    _rows.update((row.key.lower(), row) for row in rows)


# Databricks' parameters, whose values clients may quote.
_ALIASES = {
    "autocommit": "autocommit",
    "ansi_mode": "spark.sql.ansi.enabled",
    "legacy_time_parser_policy": "spark.sql.legacy.timeparserpolicy",
    "statement_timeout": "gateway.statement.timeout",
    "timezone": "spark.sql.session.timezone",
    "use_cached_result": "gateway.result_cache",
}
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def find_setting(key: str) -> Setting:
    """Returns the row for `key`, in any case and under its short names; rejects any other key."""
    folded = key.strip().lower()
    setting = SETTINGS.get(_ALIASES.get(folded, folded))
    if setting is None and not is_reserved(folded):
        return _foreign(key.strip())
    if setting is None:
        near = get_close_matches(folded[:ECHO_MAX], SETTINGS, n=1, cutoff=0.75)
        raise SettingNotAvailable(key, f" Did you mean {SETTINGS[near[0]].key}?" if near else "")
    return setting


def requires_admin(keys: Iterable[str]) -> bool:
    """Returns whether only administrators may change one of the settings; an unknown key is rejected elsewhere."""
    settings = (SETTINGS.get(key.strip().lower()) for key in keys)
    return any(setting is not None and setting.requires_admin for setting in settings)


def displayed_key(key: str) -> str:
    """Returns a setting's name in the answer of SET: Databricks' parameters as they are written, others as they are
    called. Raises as `find_setting`.
    """
    folded = key.strip().lower()
    return key.strip() if _ALIASES.get(folded, folded) != folded else find_setting(key).key


def is_foreign(key: str) -> bool:
    """Returns whether `key`, in any case, is a setting of another program, which is stored without effect."""
    folded = key.strip().lower()
    return not is_reserved(folded) and _ALIASES.get(folded, folded) not in SETTINGS


def _foreign(key: str) -> Setting:
    return Setting(
        key=key,
        doc="A variable, or a setting of another program, which changes nothing here.",
        check=lambda value: value if len(f"{key}{value}".encode()) <= FOREIGN_BYTES_MAX else None,
        expected=f"a text of up to {FOREIGN_BYTES_MAX} bytes, those of the key included,",
        is_spark=False,
    )


def parse_setting(key: str, value: str) -> tuple[Setting, str]:
    """Returns the row, and the canonical spelling of `value`; rejects a value that the row does not allow."""
    setting = find_setting(key)
    text = value.strip()
    if key.strip().lower() in _ALIASES and (quoted := _QUOTED.fullmatch(text)):
        text = quoted[1] or quoted[2]
    canonical = setting.check(text)
    if canonical is None:
        raise InvalidSettingValue(setting.key, value, setting.expected)
    return setting, canonical


def opening_settings(settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the values that a session opens with, and the keys that were given without effect, sorted.

    A setting that a client sends as Hive's is stored like a variable, and has no other effect.

    Raises `SettingNotAvailable`, `InvalidSettingValue` or `TooManyForeignSettings`.
    """
    values, without_effect = {}, set()
    for sent_key, value in settings.items():
        key = sent_key.removeprefix(HIVECONF)
        if key.strip().lower() not in SETTINGS and is_without_effect(key.strip()):
            without_effect.add(key.strip())
            continue
        setting, canonical = parse_setting(key, value)
        values[setting.key] = canonical
        if is_livy(setting.key) or (key != sent_key and is_foreign(key)):
            without_effect.add(setting.key)
    if sum(map(is_foreign, values)) > FOREIGN_MAX:
        raise TooManyForeignSettings(FOREIGN_MAX)
    return values, tuple(sorted(without_effect))
