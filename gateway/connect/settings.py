"""The Config call: a session's settings, as SET and RESET change them.

Clients also read settings of Spark by which they choose how to send and show data. `CLIENT_SETTINGS` contains their
defaults. A session can change those without effect on the server (`foreign_settings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from catalog.conditions import ConnectPlanInvalid, InvalidSettingValue, SettingNotAvailable, SettingNotFound
from catalog.errors import SqlError
from engine.runtime.settings import SETTINGS, TIME_ZONE, find_setting, is_foreign
from engine.runtime.statement import Statement
from engine.statements.session.statement import ResetSetting, SetSetting
from gateway.connect.proto import pb2
from gateway.sessions.session import Session
from gateway.sessions.waiting import ended, rows_of, run_call

# Local data travels within the plan up to this size; there are no artifacts.
_LOCAL_BYTES = str(96 << 20)
CLIENT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "spark.connect.session.planCompression.threshold": "-1",
        "spark.connect.session.planCompression.defaultAlgorithm": "NONE",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.pyspark.fallback.enabled": "true",
        "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        "spark.sql.execution.arrow.useLargeVarTypes": "false",
        "spark.sql.execution.pandas.convertToArrowArraySafely": "false",
        "spark.sql.execution.pandas.inferPandasDictAsMap": "false",
        "spark.sql.execution.pandas.structHandlingMode": "legacy",
        "spark.sql.execution.pyspark.binaryAsBytes": "true",
        "spark.sql.execution.pythonUDF.arrow.enabled": "false",
        "spark.sql.execution.pythonUDTF.arrow.enabled": "false",
        "spark.sql.pyspark.inferNestedDictAsStruct.enabled": "false",
        "spark.sql.pyspark.legacy.inferArrayTypeFromFirstElement.enabled": "false",
        "spark.sql.pyspark.legacy.inferMapTypeFromFirstPair.enabled": "false",
        "spark.sql.pyspark.plotting.max_rows": "1000",
        "spark.sql.repl.eagerEval.enabled": "false",
        "spark.sql.repl.eagerEval.maxNumRows": "20",
        "spark.sql.repl.eagerEval.truncate": "20",
        "spark.sql.session.localRelationBatchOfChunksSizeBytes": _LOCAL_BYTES,
        "spark.sql.session.localRelationCacheThreshold": _LOCAL_BYTES,
        "spark.sql.session.localRelationChunkSizeBytes": _LOCAL_BYTES,
        "spark.sql.session.localRelationChunkSizeRows": "10000000",
        "spark.sql.session.localRelationSizeLimit": _LOCAL_BYTES,
        "spark.sql.sources.default": "delta",
        "spark.sql.timestampType": "TIMESTAMP_LTZ",
    }
)
# Settings whose value is that of an older key while only that one is set.
_OLDER_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.execution.arrow.pyspark.enabled": "spark.sql.execution.arrow.enabled",
        "spark.sql.execution.arrow.pyspark.fallback.enabled": "spark.sql.execution.arrow.fallback.enabled",
    }
)
# Spark's defaults of settings that a session can change and that programs read.
_SPARK_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "10485760b",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.shuffle.partitions": "200",
        "spark.sql.sources.partitionOverwriteMode": "STATIC",
    }
)


@dataclass(slots=True)
class ServerZone:
    """The time zone of sessions that have not set one: Spark's, which is the same in all sessions."""

    _name: str | None = None

    def name(self, session: Session) -> str:
        """Returns the name of the zone; the first call runs a query in `session`."""
        if self._name is None:
            operation = session.execute("SELECT current_timezone()")
            with ended(session, operation, lambda: True):
                self._name = str(rows_of(operation)[0][0].as_py())
        return self._name


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of a session, as its client reads and changes them."""

    session: Session
    zone: ServerZone

    def answer(self, operation: pb2.ConfigRequest.Operation) -> pb2.ConfigResponse:
        """Returns the response without the session's ids. Raises `SettingNotFound` for an unknown key, and SET's
        errors.
        """
        response = pb2.ConfigResponse()
        match operation.WhichOneof("op_type"):
            case "set":
                self._set(operation.set, response)
            case "unset":
                for key in operation.unset.keys:
                    with suppress(SettingNotAvailable):  # it has no value
                        self._run(ResetSetting(key=key))
            case "get":
                for key in operation.get.keys:
                    _add(response, key, self._required(key))
            case "get_option":
                for key in operation.get_option.keys:
                    _add(response, key, self._value(key))
            case "get_with_default":
                for pair in operation.get_with_default.pairs:
                    default = pair.value if pair.HasField("value") else None
                    _add(response, pair.key, self._values().get(_canonical(pair.key), default))
            case "get_all":
                prefix = operation.get_all.prefix if operation.get_all.HasField("prefix") else ""
                for key, value in sorted(self._values().items()):
                    if key.startswith(prefix):
                        _add(response, key.removeprefix(prefix), value)
            case "is_modifiable":
                for key in operation.is_modifiable.keys:
                    _add(response, key, str(_is_modifiable(key)).lower())
            case _:  # a member of a protobuf oneof, or none
                raise ConnectPlanInvalid("a request about settings has no operation")
        return response

    def _set(self, given: pb2.ConfigRequest.Set, response: pb2.ConfigResponse) -> None:
        for pair in given.pairs:
            if not pair.HasField("value"):
                raise InvalidSettingValue(pair.key, "None", "a value")
            try:
                self._run(SetSetting(key=pair.key, value=pair.value))
            except SqlError as error:
                if not given.silent:
                    raise
                response.warnings.append(str(error))
                continue
            _add(response, pair.key, pair.value)

    def _run(self, statement: Statement) -> None:
        run_call(self.session, statement)
        self.session.record()

    def _required(self, key: str) -> str:
        value = self._value(key)
        if value is None:
            raise SettingNotFound(key)
        return value

    def _value(self, key: str) -> str | None:
        canonical = _canonical(key)
        values = self._values()
        value = values.get(canonical) or values.get(_OLDER_KEYS.get(key, ""))
        if value is None and canonical == TIME_ZONE:
            return self.zone.name(self.session)
        return value or CLIENT_SETTINGS.get(key) or _default(canonical)

    def _values(self) -> dict[str, str]:
        """Returns the settings that the session has set."""
        found = self.session.engine_session.saved_state().get("settings")
        return dict(found) if isinstance(found, Mapping) else {}


def _default(key: str) -> str | None:
    setting = SETTINGS.get(key.lower())
    return None if setting is None else setting.default or _SPARK_DEFAULTS.get(setting.key)


def _canonical(key: str) -> str:
    try:
        return find_setting(key).key
    except SettingNotAvailable:
        return key


def _is_modifiable(key: str) -> bool:
    return is_foreign(key) or (key not in CLIENT_SETTINGS and _canonical(key).lower() in SETTINGS)


def _add(response: pb2.ConfigResponse, key: str, value: str | None) -> None:
    response.pairs.append(pb2.KeyValue(key=key, value=value))
