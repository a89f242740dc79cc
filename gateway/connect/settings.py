"""The Config call: a session's settings, as SET and RESET change them.

Clients also read settings of Spark by which they choose how to send data and what to show. `CLIENT_SETTINGS` has those
that no session of this server can change.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from catalog.conditions import SettingNotAvailable, SettingNotFound
from catalog.errors import SqlError
from engine.runtime.settings import SETTINGS, find_setting
from engine.runtime.statement import Statement
from engine.statements.session.statement import ResetSetting, SetSetting
from gateway.connect.proto import pb2
from gateway.connect.waiting import run_call
from gateway.sessions.session import Session

# Local data travels within the plan up to this size; there are no artifacts.
_LOCAL_BYTES = str(96 << 20)
CLIENT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "spark.connect.session.planCompression.threshold": "-1",
        "spark.connect.session.planCompression.defaultAlgorithm": "NONE",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
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
        "spark.sql.timestampType": "TIMESTAMP_LTZ",
    }
)
# Spark's defaults of settings that a session can change and that programs read.
_SPARK_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "10485760b",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "200",
        "spark.sql.sources.partitionOverwriteMode": "STATIC",
    }
)


def configure(session: Session, operation: pb2.ConfigRequest.Operation) -> pb2.ConfigResponse:
    """Returns the response without the session's ids. Raises `SettingNotFound` for an unknown key, and SET's errors."""
    response = pb2.ConfigResponse()
    match operation.WhichOneof("op_type"):
        case "set":
            _set(session, operation.set, response)
        case "unset":
            for key in operation.unset.keys:
                _run(session, ResetSetting(key=key))
        case "get":
            for key in operation.get.keys:
                _add(response, key, _required(session, key))
        case "get_option":
            for key in operation.get_option.keys:
                _add(response, key, _value(session, key))
        case "get_with_default":
            for pair in operation.get_with_default.pairs:
                default = pair.value if pair.HasField("value") else None
                value = _value(session, pair.key, use_defaults=False)
                _add(response, pair.key, default if value is None else value)
        case "get_all":
            prefix = operation.get_all.prefix if operation.get_all.HasField("prefix") else ""
            for key, value in sorted(_values(session).items()):
                if key.startswith(prefix):
                    _add(response, key.removeprefix(prefix), value)
        case "is_modifiable":
            for key in operation.is_modifiable.keys:
                _add(response, key, str(_is_modifiable(key)).lower())
        case _:  # a member of a protobuf oneof, or none
            pass
    return response


def _set(session: Session, given: pb2.ConfigRequest.Set, response: pb2.ConfigResponse) -> None:
    for pair in given.pairs:
        try:
            _run(session, SetSetting(key=pair.key, value=pair.value))
        except SqlError as error:
            if not given.silent:
                raise
            response.warnings.append(str(error))
            continue
        _add(response, pair.key, pair.value)


def _run(session: Session, statement: Statement) -> None:
    run_call(session, statement)
    session.record()


def _required(session: Session, key: str) -> str:
    value = _value(session, key)
    if value is None:
        raise SettingNotFound(key)
    return value


def _value(session: Session, key: str, *, use_defaults: bool = True) -> str | None:
    value = _values(session).get(_canonical(key))
    if value is not None or not use_defaults:
        return value
    return CLIENT_SETTINGS.get(key) or _default(key)


def _default(key: str) -> str | None:
    setting = SETTINGS.get(_canonical(key).lower())
    return None if setting is None else setting.default or _SPARK_DEFAULTS.get(setting.key)


def _canonical(key: str) -> str:
    try:
        return find_setting(key).key
    except SettingNotAvailable:
        return key


def _values(session: Session) -> dict[str, str]:
    """Returns the settings that the session has set."""
    found = session.engine_session.saved_state().get("settings")
    return dict(found) if isinstance(found, Mapping) else {}


def _is_modifiable(key: str) -> bool:
    return key not in CLIENT_SETTINGS and _canonical(key).lower() in SETTINGS


def _add(response: pb2.ConfigResponse, key: str, value: str | None) -> None:
    response.pairs.append(pb2.KeyValue(key=key, value=value))
