"""The log's actions as frozen values that are parsed from JSON and formatted as JSON.

A commit is a sequence of JSON objects. Each has one key that names the action: ``{"add": {...}}``. Each action is a
dataclass whose *annotations are the schema*: a field ``base_row_id: int | None`` is written as ``baseRowId``, its
annotation selects its parser, and a field without a default is required. Fields that the protocol does not name are
preserved in `extra` and written back, so that fields from a newer writer survive. An explicit JSON null means the same
as an absent field. Nulls are never written, because some foreign readers fail on them.

These values are for the few actions that a commit stages or that occur once per table. A table's files never become
objects: see `engine.delta.snapshot.replay`.

Protocol: "Actions"; for `DeletionVectorDescriptor`: "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeAlias

from catalog.conditions import MalformedLogEntry
from engine.storage.paths import decode_path, resolve_path

Json: TypeAlias = Any
# `Json` is a value as `json.loads` returns it. `Int32` is an integer that has at most 32 bits in the log.
Int32: TypeAlias = int

_NO_EXTRA: Mapping[str, Json] = {}


class _Wire:
    """Base class for dataclasses whose annotations are their JSON schema."""

    __slots__ = ()

    # The value's key in JSON.
    WIRE_NAME: ClassVar[str]

    # True if a field may have a value of any type. A value of an unexpected type is preserved in `extra`.
    HOLDS_ANY_JSON: ClassVar[bool] = False

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Parses the object inside the wrapper: for ``{"txn": {...}}`` the inner object.

        Raises `MalformedLogEntry`.
        """
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
        """Returns the object inside the wrapper, without nulls."""
        result = {}
        for name, (attribute, _, _) in _columns(type(self)).items():
            item = getattr(self, attribute)
            if item is not None:
                result[name] = _format(item)
        result.update(getattr(self, "extra", _NO_EXTRA))
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorDescriptor(_Wire):
    """A deletion vector's location, size and cardinality. The bitmap itself is in `engine.storage.deletion_vectors`."""

    WIRE_NAME = "deletionVector"

    # `u`: a file under the table root, named by a UUID; `p`: an absolute path; `i`: inline.
    storage_type: str
    path_or_inline_dv: str
    offset: Int32 | None = None
    size_in_bytes: Int32
    cardinality: int
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def unique_id(self) -> str:
        """Returns the deletion vector's part in the logical file's identity. An absent offset differs from offset 0."""
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline_dv}{suffix}"


class _FileAction(_Wire):
    __slots__ = ()

    path: str

    @property
    def file_path(self) -> str:
        """Returns the path, decoded once: relative to the table root or absolute, as in `Snapshot.files`."""
        return resolve_path(decode_path(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Add(_FileAction):
    """Adds a data file to the table, or replaces the information about a file that the table already has."""

    WIRE_NAME = "add"

    # Percent-encoded, as in the log. A later `Remove` repeats it byte for byte.
    path: str
    # By physical name. Null and "" both mean null.
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    # In bytes.
    size: int
    # In milliseconds since the epoch.
    modification_time: int = 0
    data_change: bool = True
    # JSON text; see `engine.delta.spec.stats`.
    stats: str | None = None
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def dv_id(self) -> str | None:
        """Returns the deletion vector's unique id, a part of the file's primary key; None without one."""
        return self.deletion_vector.unique_id if self.deletion_vector else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove(_FileAction):
    """Removes a data file from the table. The action remains as a tombstone until it expires."""

    WIRE_NAME = "remove"

    # The path as in the log: the same text as in the `Add` action that it undoes.
    path: str
    # In milliseconds since the epoch. An absent value means 0: the tombstone expired long ago.
    deletion_timestamp: int | None = None
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
        """Returns the deletion vector's unique id, a part of the file's primary key; None without one."""
        return self.deletion_vector.unique_id if self.deletion_vector else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddCdcFile(_FileAction):
    """A change data file. It belongs to its commit only, not to the table's state."""

    WIRE_NAME = "cdc"

    path: str
    partition_values: Mapping[str, str | None] = field(default_factory=dict)
    size: int
    data_change: bool = False
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(_Wire):
    """The data files' encoding; always Parquet in practice."""

    WIRE_NAME = "format"

    provider: str = "parquet"
    options: Mapping[str, str | None] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata(_Wire):
    """The table's schema, partitioning and properties."""

    WIRE_NAME = "metaData"

    id: str
    name: str | None = None
    description: str | None = None
    format: Format = field(default_factory=Format)
    # The schema as JSON text: `engine.types.schema.parse_schema`. Some very old logs omit it.
    schema_string: str = '{"type":"struct","fields":[]}'
    # Logical names.
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str | None] = field(default_factory=dict)
    created_time: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol(_Wire):
    """The versions and features that a reader and a writer must support."""

    WIRE_NAME = "protocol"

    min_reader_version: int
    min_writer_version: int
    # None if the log has no list. An empty list differs from None, and occurs.
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTransaction(_Wire):
    """A transaction identifier: an application's own version, recorded with the commit that it made."""

    WIRE_NAME = "txn"

    app_id: str
    version: int
    last_updated: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMetadata(_Wire):
    """A named domain's configuration; `removed` makes the action a tombstone."""

    WIRE_NAME = "domainMetadata"

    domain: str
    configuration: str
    removed: bool = False
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo(_Wire):
    """A commit's provenance. It may be any JSON object, so fields with unexpected types are only preserved.

    Protocol: "Commit Provenance Information".
    """

    WIRE_NAME = "commitInfo"
    HOLDS_ANY_JSON = True

    # The commit's own time, in milliseconds since the epoch, if in-commit timestamps are enabled.
    in_commit_timestamp: int | None = None
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
    """The first action in a v2 checkpoint."""

    WIRE_NAME = "checkpointMetadata"

    version: int
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar(_Wire):
    """A file under `_delta_log/_sidecars` with file actions for a v2 checkpoint."""

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

# All actions by their names in the log.
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


def parse_action(value: Json) -> Action | None:
    """Parses an action such as ``{"add": {...}}``. Returns None for an unknown action, which readers must ignore.

    Ignores explicit nulls next to the action, as checkpoint rows have them. Raises `MalformedLogEntry`.
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
    """Returns ``{"add": {...}}``, ready for `json.dumps`."""
    return {action.WIRE_NAME: action.to_json()}


def format_actions(actions: Iterator[Action] | tuple[Action, ...] | list[Action]) -> bytes:
    """Returns a commit file's bytes: one action per line, in the given order, each line terminated by a newline."""
    lines = (json.dumps(format_action(action), separators=(",", ":"), ensure_ascii=False) for action in actions)
    return "".join(f"{line}\n" for line in lines).encode()


def parse_json_stream(data: bytes, source: str) -> Iterator[Json]:
    """Yields the JSON values in `data` in order, independent of line breaks. Raises `MalformedLogEntry`.

    Commits should have one object per line, but pretty-printed and concatenated objects occur.
    """
    try:
        text = data.decode("utf-8-sig")
        position, end = 0, len(text)
        surrogates = "\\ud" in text.lower()  # half a surrogate pair is not text and must be rejected here
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


# --- Parsers and formatters ----------------------------------------------------------------------------------------


def _kind(value: Json) -> str:
    return {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a value")


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{_kind(value)} where a string belongs")
    return value


def _text(value: Json) -> str:
    """Accepts a string, or JSON that some writers leave unquoted (a schema, statistics, a domain's configuration)."""
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
    """Parses an object with string values. Numbers and booleans become their JSON text, as in the JVM readers."""
    pairs = value.items() if isinstance(value, Mapping) else value  # a Parquet map arrives as pairs
    if not isinstance(value, Mapping | list):
        raise TypeError(f"{_kind(value)} where an object belongs")
    return {_string(key): None if item is None else _text(item) for key, item in pairs}


def _parse_any(value: Json) -> Json:
    return value


_PARSERS: dict[str, Callable[[Json], Any]] = {
    "str": _string,
    "int": _integer,
    "Int32": _int32,
    "bool": _boolean,
    "tuple[str, ...]": _strings,
    "Mapping[str, str | None]": _string_map,
    "Json": _parse_any,
    "DeletionVectorDescriptor": DeletionVectorDescriptor.from_json,
    "Format": Format.from_json,
}
_TEXTS = {"schema_string", "stats", "configuration"}
_cache: dict[type, dict[str, tuple[str, Callable[[Json], Any], bool]]] = {}


def _columns(cls: type) -> dict[str, tuple[str, Callable[[Json], Any], bool]]:
    """Maps wire names to (attribute, parser, required). Derived from the dataclass once."""
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
    """Converts `base_row_id` to `baseRowId`."""
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
