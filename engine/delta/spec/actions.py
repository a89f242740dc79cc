"""The actions of the log as frozen values, with their JSON both ways.

A commit is a sequence of JSON objects, each with one key that names the action: ``{"add": {...}}``. Here every action
is a dataclass whose *annotations are the schema*: a field ``base_row_id: int | None`` travels as ``baseRowId``, its
parser is chosen by its annotation, and a field without a default is required. What the protocol does not name is kept
in `extra` and written back, so that a newer writer's fields survive us. An explicit JSON null means the same as an
absent field, and nulls are never written (foreign readers have choked on them).

These values are for the handful of actions that a commit stages, or of which a table has one. The files of a table
never become objects: see `engine.delta.snapshot.replay`.

Protocol: "Actions"; `DeletionVectorDescriptor`: "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeAlias

from catalog.conditions import MalformedLogEntry
from engine.storage.paths import decode_path, resolve_path

Json: TypeAlias = Any
Int32: TypeAlias = int
"""A JSON value as `json.loads` gives it."""

_NO_EXTRA: Mapping[str, Json] = {}


class _Wire:
    """JSON both ways for a dataclass whose annotations are its schema."""

    __slots__ = ()

    WIRE_NAME: ClassVar[str]
    """The key under which the value travels."""

    HOLDS_ANY_JSON: ClassVar[bool] = False
    """True if a field may have a value of any type. One of another type than expected is kept in `extra`."""

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """The value inside the wrapper: for ``{"txn": {...}}`` the inner object. Raises `MalformedLogEntry`."""
        if not isinstance(value, Mapping):
            raise MalformedLogEntry(cls.WIRE_NAME, f"{_kind(value)} where an object belongs")
        arguments: dict[str, Any] = {}
        known = _columns(cls)
        for name, (attribute, parse, required) in known.items():
            item = value.get(name)
            if item is not None:
                try:
                    arguments[attribute] = parse(item)
                except (TypeError, ValueError) as error:
                    if not cls.HOLDS_ANY_JSON:
                        raise MalformedLogEntry(cls.WIRE_NAME, f"field {name}: {error}") from error
            elif required:
                raise MalformedLogEntry(cls.WIRE_NAME, f"the required field {name} is missing")
        extra = {
            name: item
            for name, item in value.items()
            if item is not None and (name not in known or known[name][0] not in arguments)
        }
        if extra:
            arguments["extra"] = extra
        return cls(**arguments)

    def to_json(self) -> dict[str, Json]:
        """The object inside the wrapper, without nulls."""
        result = {}
        for name, (attribute, _, _) in _columns(type(self)).items():
            item = getattr(self, attribute)
            if item is not None:
                result[name] = _format(item)
        result.update(getattr(self, "extra", _NO_EXTRA))
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorDescriptor(_Wire):
    """Where a deletion vector lies and what it holds; the bitmap itself is `engine.storage.deletion_vectors`."""

    WIRE_NAME = "deletionVector"

    storage_type: str
    """`u`: file under the table root named by a UUID, `p`: absolute path, `i`: inline."""
    path_or_inline_dv: str
    offset: Int32 | None = None
    size_in_bytes: Int32
    cardinality: int
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def unique_id(self) -> str:
        """The vector's part of a file's identity. An absent offset is not an offset of 0."""
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline_dv}{suffix}"


class _FileAction(_Wire):
    __slots__ = ()

    path: str

    @property
    def file_path(self) -> str:
        """The path decoded (once): relative to the table root or absolute, as in `Snapshot.files`."""
        return resolve_path(decode_path(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(_FileAction):
    """A data file becomes part of the table, or is replaced there by newer information."""

    WIRE_NAME = "add"

    path: str
    """As in the log: percent-encoded. It is repeated byte for byte in a later `Remove`."""
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    """By physical name; null and "" both mean null."""
    size: int
    """Bytes."""
    modification_time: int = 0
    """Milliseconds since the epoch."""
    data_change: bool = True
    stats: str | None = None
    """JSON text, see `engine.delta.spec.stats`."""
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def dv_id(self) -> str | None:
        return self.deletion_vector.unique_id if self.deletion_vector else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove(_FileAction):
    """A data file stops being part of the table; kept as a tombstone until it expires."""

    WIRE_NAME = "remove"

    path: str
    """As in the log: the text of the `Add` it undoes."""
    deletion_timestamp: int | None = None
    """Milliseconds since the epoch; absent means 0, that is: expired long ago."""
    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def dv_id(self) -> str | None:
        return self.deletion_vector.unique_id if self.deletion_vector else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCdcFile(_FileAction):
    """A file of row changes of this commit; it belongs to no table state."""

    WIRE_NAME = "cdc"

    path: str
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    size: int
    data_change: bool = False
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(_Wire):
    """How the data files are encoded; always Parquet in practice."""

    WIRE_NAME = "format"

    provider: str = "parquet"
    options: Mapping[str, str | None] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata(_Wire):
    """Schema, partitioning and properties of the table."""

    WIRE_NAME = "metaData"

    id: str
    name: str | None = None
    description: str | None = None
    format: Format = field(default_factory=Format)
    schema_string: str = '{"type":"struct","fields":[]}'
    """The schema as JSON text: `engine.types.schema.parse_schema`. Absent in some very old logs."""
    partition_columns: tuple[str, ...] = ()
    """Logical names."""
    configuration: Mapping[str, str | None] = field(default_factory=dict)
    created_time: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(_Wire):
    """What a reader and a writer of the table have to understand."""

    WIRE_NAME = "protocol"

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    """None where the log has no list; an empty list is another thing, and occurs."""
    writer_features: tuple[str, ...] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTransaction(_Wire):
    """An application's own version, recorded with the commit that it made."""

    WIRE_NAME = "txn"

    app_id: str
    version: int
    last_updated: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMetadata(_Wire):
    """Configuration of a named domain; `removed` makes it a tombstone."""

    WIRE_NAME = "domainMetadata"

    domain: str
    configuration: str
    removed: bool = False
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo(_Wire):
    """Provenance of a commit. It may be any JSON object, so a field of another type than expected is only kept.

    Protocol: "Commit Provenance Information".
    """

    WIRE_NAME = "commitInfo"
    HOLDS_ANY_JSON = True

    in_commit_timestamp: int | None = None
    """Milliseconds since the epoch; the commit's own time where that feature is enabled."""
    timestamp: int | None = None
    user_id: str | None = None
    user_name: str | None = None
    operation: str | None = None
    operation_parameters: Json | None = None
    job: Json | None = None
    notebook: Json | None = None
    cluster_id: str | None = None
    read_version: int | None = None
    isolation_level: str | None = None
    is_blind_append: bool | None = None
    operation_metrics: Json | None = None
    user_metadata: str | None = None
    tags: Mapping[str, str | None] | None = None
    engine_info: str | None = None
    txn_id: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMetadata(_Wire):
    """First action of a v2 checkpoint."""

    WIRE_NAME = "checkpointMetadata"

    version: int
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar(_Wire):
    """A file under `_delta_log/_sidecars` that holds file actions of a v2 checkpoint."""

    WIRE_NAME = "sidecar"

    path: str
    size_in_bytes: int
    modification_time: int = 0
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


FileAction: TypeAlias = Add | Remove | AddCdcFile
Action: TypeAlias = (
    FileAction | Metadata | Protocol | SetTransaction | DomainMetadata | CommitInfo | CheckpointMetadata | Sidecar
)

ACTION_TYPES: Mapping[str, type[Action]] = {
    kind.WIRE_NAME: kind
    for kind in (
        Add,
        Remove,
        AddCdcFile,
        Metadata,
        Protocol,
        SetTransaction,
        DomainMetadata,
        CommitInfo,
        CheckpointMetadata,
        Sidecar,
    )
}
"""Every action by its name in the log."""


def parse_action(value: Json) -> Action | None:
    """The action in ``{"add": {...}}``; None for an action that we do not know, which a reader must ignore.

    Explicit nulls beside the action (as in a row of a checkpoint) are ignored. Raises `MalformedLogEntry`.
    """
    if not isinstance(value, Mapping):
        raise MalformedLogEntry("action", f"{_kind(value)} where an object belongs")
    present = [(name, body) for name, body in value.items() if body is not None]
    if not present:
        return None
    known = [(name, body) for name, body in present if name in ACTION_TYPES]
    if len(known) > 1:
        raise MalformedLogEntry("action", f"one object holds several actions ({', '.join(n for n, _ in known)})")
    return ACTION_TYPES[known[0][0]].from_json(known[0][1]) if known else None


def format_action(action: Action) -> dict[str, Json]:
    """``{"add": {...}}``, ready for `json.dumps`."""
    return {action.WIRE_NAME: action.to_json()}


def format_actions(actions: Iterator[Action] | tuple[Action, ...] | list[Action]) -> bytes:
    """The bytes of a commit: one action a line, in the order given, each line ended by a newline."""
    lines = (json.dumps(format_action(action), separators=(",", ":"), ensure_ascii=False) for action in actions)
    return "".join(f"{line}\n" for line in lines).encode()


def parse_json_stream(data: bytes, source: str) -> Iterator[Json]:
    """The JSON values in `data`, one after the other, wherever line breaks are. Raises `MalformedLogEntry`.

    Commits are meant to be one object a line, but pretty-printed and joined ones occur.
    """
    try:
        text = data.decode("utf-8-sig")
        position, end = 0, len(text)
        surrogates = "\\ud" in text.lower()  # half of an escaped pair is no text, and must not get further
        while True:
            while position < end and text[position] in " \t\r\n":
                position += 1
            if position == end:
                return
            value, position = _DECODER.raw_decode(text, position)
            if surrogates:
                json.dumps(value, ensure_ascii=False).encode()
            yield value
    except (ValueError, RecursionError) as error:
        raise MalformedLogEntry(source, f"no JSON ({error})") from error


_DECODER = json.JSONDecoder()


# --- The codec -----------------------------------------------------------------------------------------------------


def _kind(value: Json) -> str:
    return {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a value")


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_kind(value)} where a string belongs")
    return value


def _text(value: Json) -> str:
    """A string, or JSON that some writers leave unquoted (a schema, statistics, a domain's configuration)."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _integer(value: Json) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{_kind(value)} where an integer belongs")
    if not -(2**63) <= value < 2**63:
        raise ValueError("an integer of more than 64 bits")
    return value


def _int32(value: Json) -> int:
    number = _integer(value)
    if not -(2**31) <= number < 2**31:
        raise ValueError("an integer of more than 32 bits")
    return number


def _boolean(value: Json) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{_kind(value)} where a boolean belongs")
    return value


def _strings(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{_kind(value)} where an array belongs")
    return tuple(_string(item) for item in value)


def _string_map(value: Json) -> dict[str, str | None]:
    """An object of strings. Numbers and booleans become their JSON text, as the JVM readers do."""
    pairs = value.items() if isinstance(value, Mapping) else value  # a Parquet map arrives as pairs
    if not isinstance(value, Mapping | list):
        raise TypeError(f"{_kind(value)} where an object belongs")
    return {_string(key): None if item is None else _text(item) for key, item in pairs}


def _anything(value: Json) -> Json:
    return value


_PARSERS: dict[str, Callable[[Json], Any]] = {
    "str": _string,
    "int": _integer,
    "Int32": _int32,
    "bool": _boolean,
    "tuple[str, ...]": _strings,
    "Mapping[str, str | None]": _string_map,
    "Json": _anything,
    "DeletionVectorDescriptor": DeletionVectorDescriptor.from_json,
    "Format": Format.from_json,
}
_TEXTS = {"schema_string", "stats", "configuration"}
_cache: dict[type, dict[str, tuple[str, Callable[[Json], Any], bool]]] = {}


def _columns(cls: type) -> dict[str, tuple[str, Callable[[Json], Any], bool]]:
    """Wire name -> (attribute, parser, required), derived from the dataclass once."""
    columns = _cache.get(cls)
    if columns is None:
        columns = {}
        for item in fields(cls):
            if item.name == "extra":
                continue
            annotation = str(item.type).removesuffix(" | None")
            parse = _text if annotation == "str" and item.name in _TEXTS else _PARSERS[annotation]
            required = item.default is MISSING and item.default_factory is MISSING
            columns[camel_case(item.name)] = (item.name, parse, required)
        _cache[cls] = columns
    return columns


def camel_case(name: str) -> str:
    """`base_row_id` -> `baseRowId`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _format(value: Any) -> Json:
    if isinstance(value, _Wire):
        return value.to_json()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value
