"""The SQL texts of a plan's named relations: tables, files, change feeds and SQL.

A name arrives unparsed and is quoted part by part, so that it names one relation and nothing else. Options are an
allow-list: an unknown one is rejected with an error that names it, as it might change which rows are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from catalog.names import quote
from engine.runtime.parameters import Parameter
from engine.sql.query.source_text import GeneratedText
from engine.sql.string_literals import spark_string
from gateway.connect.literals import parameters_of
from gateway.connect.proto import pb2
from gateway.connect.types import ddl_columns, ddl_type, json_type

_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.\s]+))\s*(?:\.|$)")
_TABLE_FORMATS = frozenset({"delta", "iceberg"})
_FILE_FORMATS = frozenset({"csv", "json", "orc", "parquet", "text"})
# Options that Spark's readers ignore: those of its writers, and inferSchema for formats other than CSV.
_IGNORED = {"csv": ("escapequotes", "quoteall")}
_NOT_CSV = ("inferschema",)
_VERSION, _TIMESTAMP = ("versionasof", "snapshot-id"), ("timestampasof",)
# The beginning of a text for a table or files.
ALL_COLUMNS = "SELECT * FROM "
_FEED = ("readchangefeed", "readchangedata")
_BOUNDS = ("startingversion", "startingtimestamp", "endingversion", "endingtimestamp")
_STREAMING = "Structured Streaming"
_STREAMING_ADVICE = "Read the table's change feed, or run the query again."


@dataclass(frozen=True, slots=True)
class Input:
    """A relation's SQL text, a query, and the values for its parameter markers.

    `alias` are the parts of a table's name, by which columns may be qualified.
    """

    text: str
    parameters: tuple[Parameter, ...] = ()
    alias: tuple[str, ...] = ()


def sql_input(sql: pb2.SQL) -> Input:
    """Returns the user's own text."""
    named = dict(sql.named_arguments) or dict(sql.args)
    return Input(sql.query, parameters_of(named, list(sql.pos_arguments) or list(sql.pos_args)))


def read_input(read: pb2.Read) -> Input:
    """Returns the text of `spark.read`. Raises `ConnectFeatureNotSupported` for streams and sources that run code."""
    if read.is_streaming:
        raise ConnectFeatureNotSupported(_STREAMING, _STREAMING_ADVICE)
    match read.WhichOneof("read_type"):
        case "named_table":
            parts = name_parts(read.named_table.unparsed_identifier)
            found = _table_input(".".join(map(quote, parts)), read.named_table.options)
            return replace(found, alias=() if parts[0].lower() in _TABLE_FORMATS else parts)
        case "data_source":
            return _files_input(read.data_source)
        case other:  # a member of a protobuf oneof, or none
            raise ConnectPlanInvalid(f"a relation reads {other or 'nothing'}")


def changes_input(changes: pb2.RelationChanges) -> Input:
    """Returns the text of a table's change feed."""
    if changes.is_streaming:
        raise ConnectFeatureNotSupported(_STREAMING, _STREAMING_ADVICE)
    options = {key.lower(): value for key, value in changes.options.items()}
    return _feed_input(quote_name(changes.unparsed_identifier), options)


def quote_name(name: str) -> str:
    """Returns a dotted name with each part in backquotes. Raises `ConnectPlanInvalid` for another text."""
    return ".".join(map(quote, name_parts(name)))


def name_parts(name: str) -> tuple[str, ...]:
    """Returns the parts of a dotted name, which may be in backquotes. Raises `ConnectPlanInvalid`."""
    parts: list[str] = []
    at = 0
    while at < len(name) or not parts:
        found = _NAME.match(name, at)
        if found is None or (found.end() == len(name) and found[0].endswith(".")):
            raise ConnectPlanInvalid(f"{name[:200]!r} is not a name")
        parts.append(found[1].replace("``", "`") if found[1] else found[2])
        at = found.end()
    return tuple(parts)


def _files_input(source: pb2.Read.DataSource) -> Input:
    kind = source.format.lower() or "delta"
    options = {key.lower(): value for key, value in source.options.items()}
    paths = [*source.paths, *filter(None, [options.pop("path", None)])]
    if source.predicates or kind not in _TABLE_FORMATS | _FILE_FORMATS:
        raise ConnectFeatureNotSupported(
            f"Reading the data source {source.format}", "Read Delta and Iceberg tables, or files by read_files."
        )
    if len(paths) != 1:
        raise ConnectFeatureNotSupported(
            f"Reading {len(paths)} paths as one {kind} source", "Read one path, and combine DataFrames by union."
        )
    if kind in _TABLE_FORMATS:
        if source.schema:
            raise ConnectFeatureNotSupported(f"A schema for the {kind} table at {paths[0]}", "Use select and cast.")
        return _table_input(f"{kind}.{quote(paths[0])}", options)
    for ignored in _IGNORED.get(kind, _NOT_CSV):
        options.pop(ignored, None)
    if kind == "csv" and not source.schema:  # Spark's reader returns strings; read_files infers types
        options.setdefault("inferschema", "false")
    arguments = [spark_string(paths[0]), f"format => {spark_string(kind)}"]
    if source.schema:
        arguments.append(f"schema => {spark_string(_columns(source.schema))}")
    arguments += [f"{_option_name(key)} => {spark_string(value)}" for key, value in sorted(options.items())]
    return _generated(f"{ALL_COLUMNS}read_files({', '.join(arguments)})")


def _columns(schema: str) -> str:
    """Returns a reader's schema as DDL; clients send a `StructType` as JSON. Raises `ConnectPlanInvalid`.

    As in Spark, columns of files are nullable whatever the schema says: files may lack any value.
    """
    if not schema.lstrip().startswith("{"):
        return schema
    try:
        kind = json_type(json.loads(schema))
    except (ValueError, LookupError, TypeError) as error:
        raise ConnectPlanInvalid(f"a reader's schema is not a schema in JSON: {error}") from error
    if not kind.HasField("struct"):
        raise ConnectPlanInvalid(f"a reader's schema is the type {ddl_type(kind)}, not columns")
    return ddl_columns(kind.struct.fields, not_null=False)


def _generated(text: str) -> Input:
    return Input(GeneratedText(text))


def _option_name(key: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*", key):
        raise ConnectFeatureNotSupported(f"The option {key} of a reader")
    return key


def _table_input(name: str, given: Mapping[str, str]) -> Input:
    options = {key.lower(): value for key, value in given.items()}
    if any(options.pop(key, "false").lower() == "true" for key in _FEED if key in options):
        return _feed_input(name, options)
    version = _taken(options, _VERSION)
    timestamp = _taken(options, _TIMESTAMP)
    if options:
        raise ConnectFeatureNotSupported(
            f"The option {min(options)} for the table {name}", "The options are versionAsOf and timestampAsOf."
        )
    if version is not None and timestamp is not None:
        raise ConnectPlanInvalid("versionAsOf and timestampAsOf exclude each other")
    if version is not None:
        return _generated(f"{ALL_COLUMNS}{name} VERSION AS OF {_version(version)}")
    if timestamp is not None:
        return _generated(f"{ALL_COLUMNS}{name} TIMESTAMP AS OF {spark_string(timestamp)}")
    return _generated(f"{ALL_COLUMNS}{name}")


def _feed_input(name: str, options: dict[str, str]) -> Input:
    bounds = {key: options.pop(key) for key in _BOUNDS if key in options}
    if options:
        raise ConnectFeatureNotSupported(f"The option {min(options)} for the change feed of {name}")
    start = _bound(bounds, "starting")
    if start is None:
        raise ConnectPlanInvalid("a change feed requires startingVersion or startingTimestamp")
    end = _bound(bounds, "ending")
    last = "" if end is None else f", {end}"
    return _generated(f"{ALL_COLUMNS}table_changes({spark_string(name)}, {start}{last})")


def _bound(bounds: Mapping[str, str], prefix: str) -> str | None:
    version, timestamp = bounds.get(f"{prefix}version"), bounds.get(f"{prefix}timestamp")
    if version is not None and timestamp is not None:
        raise ConnectPlanInvalid(f"{prefix}Version and {prefix}Timestamp exclude each other")
    if version is not None:
        return _version(version)
    return None if timestamp is None else spark_string(timestamp)


def _taken(options: dict[str, str], names: tuple[str, ...]) -> str | None:
    found = [options.pop(name) for name in names if name in options]
    return found[0] if found else None


def _version(text: str) -> str:
    if not re.fullmatch(r"\d{1,19}", text.strip()):
        raise ConnectPlanInvalid(f"{text[:50]!r} is not a version")
    return text.strip()
