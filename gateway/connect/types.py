"""SQL types as messages of Spark Connect, and back as DDL.

A result's field has its SQL type in Spark's spelling and its Arrow type. The spelling has types that Arrow
lacks (`varchar`, intervals, variant), and Arrow's nested fields have the names, which the spelling does not quote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid, UnsupportedDataType
from catalog.names import quote
from engine.runtime.results import sql_type_of, user_type_of
from engine.types.schema import user_metadata
from gateway.connect.proto import pb2

_DEPTH_MAX = 100
_PLAIN = {
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "void": "null",
    "variant": "variant",
    "interval": "calendar_interval",
}
_DDL = {member: name for name, member in _PLAIN.items()}
_FIELDS = {
    "year_month_interval": ("year", "month"),
    "day_time_interval": ("day", "hour", "minute", "second"),
}
_INTERVAL = re.compile(r"interval (year|month|day|hour|minute|second)(?: to (month|hour|minute|second))?")
_LEAF = re.compile(r"interval[a-z ]*|string\s+collate\s+(?:`(?:[^`]|``)*`|\w+)|\w+(?:\s*\([^()]*\))?", re.IGNORECASE)
_SIZED = re.compile(r"(\w+)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`\s*:?|([^:,<>`]+):|(\w+)\s+)\s*")
_COMMENT = re.compile(r"\s*comment\s+'((?:[^'\\]|\\.|'')*)'", re.IGNORECASE)
_NOT_NULL = re.compile(r"\s*not\s+null", re.IGNORECASE)
_SYNONYMS = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_SYNONYMS |= {"dec": "decimal", "numeric": "decimal", "null": "void", "timestamp_ltz": "timestamp"}
_SIZED_NAMES = frozenset({"decimal", "char", "character", "varchar", "time", "string"})


def schema_type(schema: pa.Schema) -> pb2.DataType:
    """Returns the struct for a result's columns."""
    fields = [
        pb2.DataType.StructField(name=field.name, data_type=field_type(field), nullable=field.nullable)
        for field in schema
    ]
    return pb2.DataType(struct=pb2.DataType.Struct(fields=fields))


def field_type(field: pa.Field) -> pb2.DataType:
    """Returns the type of a result's column."""
    user_type = user_type_of(field)
    if user_type is not None:
        return json_type(user_type)
    return _Reader(sql_type_of(field)).read(field.type)


def parse_type_text(text: str) -> pb2.DataType:
    """Parses a type in DDL, or as DESCRIBE shows it; raises `UnsupportedDataType`."""
    reader = _Reader(text)
    found = reader.read(None)
    reader.ensure_done()
    return found


def parse_ddl(text: str) -> pb2.DataType:
    """Parses a type, or the columns of a table: `a INT NOT NULL, b STRING COMMENT 'x'`."""
    with suppress(UnsupportedDataType):
        return parse_type_text(text)
    reader = _Reader(text)
    found = reader.read_columns(None, "")
    reader.ensure_done()
    return found


def json_type(given: str | Mapping[str, Any]) -> pb2.DataType:
    """Returns a type from Spark's JSON, with the nullability of its parts. Raises `UnsupportedDataType`."""
    if isinstance(given, str):
        return parse_type_text(given)
    match given["type"]:
        case "array":
            element = json_type(given["elementType"])
            return pb2.DataType(array=pb2.DataType.Array(element_type=element, contains_null=given["containsNull"]))
        case "map":
            key, value = json_type(given["keyType"]), json_type(given["valueType"])
            nullable = given["valueContainsNull"]
            return pb2.DataType(map=pb2.DataType.Map(key_type=key, value_type=value, value_contains_null=nullable))
        case "struct":
            return pb2.DataType(struct=pb2.DataType.Struct(fields=map(_json_field, given["fields"])))
        case "udt" if "class" not in given:  # its class is the client's
            return pb2.DataType(
                udt=pb2.DataType.UDT(
                    type="udt",
                    python_class=given["pyClass"],
                    serialized_python_class=given["serializedClass"],
                    sql_type=json_type(given["sqlType"]),
                )
            )
        case _:  # JSON from Spark
            raise UnsupportedDataType(str(given["type"]))


def _json_field(given: Mapping[str, Any]) -> pb2.DataType.StructField:
    kind = json_type(given["type"])
    field = pb2.DataType.StructField(name=given["name"], data_type=kind, nullable=given["nullable"])
    if metadata := user_metadata(given.get("metadata", {})):
        field.metadata = json.dumps(metadata)
    return field


class _Reader:
    """A type's text, from left to right; a struct's fields have the names of its Arrow type, if that is known."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text.strip(), 0, 0

    def read(self, kind: pa.DataType | None) -> pb2.DataType:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise UnsupportedDataType(self._text)
        found = self._read_nested(kind) or self._read_leaf()
        self._depth -= 1
        return found

    def read_columns(self, kind: pa.StructType | None, end: str) -> pb2.DataType:
        fields: list[pb2.DataType.StructField] = []
        while not self._is_at(end):
            if fields:
                self._expect(",")
            name, inner = self._name(None if kind is None else kind.field(len(fields)))
            field = pb2.DataType.StructField(name=name, data_type=self.read(inner), nullable=True)
            if self._match(_NOT_NULL):
                field.nullable = False
            if comment := self._match(_COMMENT):
                field.metadata = json.dumps({"comment": comment[1].replace("''", "'").replace("\\'", "'")})
            fields.append(field)
        return pb2.DataType(struct=pb2.DataType.Struct(fields=fields))

    def ensure_done(self) -> None:
        if not self._is_at(""):
            raise UnsupportedDataType(self._text)

    def _read_nested(self, kind: pa.DataType | None) -> pb2.DataType | None:
        if self._take("array<"):
            element = self.read(None if kind is None else kind.value_type)
            self._expect(">")
            return pb2.DataType(array=pb2.DataType.Array(element_type=element, contains_null=True))
        if self._take("map<"):
            key = self.read(None if kind is None else kind.key_type)
            self._expect(",")
            value = self.read(None if kind is None else kind.item_type)
            self._expect(">")
            return pb2.DataType(map=pb2.DataType.Map(key_type=key, value_type=value, value_contains_null=True))
        if self._take("struct<"):
            found = self.read_columns(kind, ">")
            self._expect(">")
            return found
        return None

    def _read_leaf(self) -> pb2.DataType:
        found = self._match(_LEAF)
        leaf = None if found is None else _leaf_type(found[0].strip())
        if leaf is None:
            raise UnsupportedDataType(self._text)
        return leaf

    def _name(self, known: pa.Field | None) -> tuple[str, pa.DataType | None]:
        if known is not None:
            if not any(map(self._take, (f"{known.name}:", f"{quote(known.name)}:"))):
                raise UnsupportedDataType(self._text)
            return known.name, known.type
        found = self._match(_NAME)
        if found is None:
            raise UnsupportedDataType(self._text)
        quoted, before_colon, word = found.groups()
        return (quoted.replace("``", "`") if quoted else (before_colon or word).strip()), None

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._skipped())
        if found is not None:
            self._at = found.end()
        return found

    def _take(self, text: str) -> bool:
        at = self._skipped()
        if self._text[at : at + len(text)].lower() != text.lower():
            return False
        self._at = at + len(text)
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise UnsupportedDataType(self._text)

    def _is_at(self, text: str) -> bool:
        at = self._skipped()
        return at >= len(self._text) if not text else self._text.startswith(text, at)

    def _skipped(self) -> int:
        at = self._at
        while at < len(self._text) and self._text[at].isspace():
            at += 1
        return at


def _leaf_type(text: str) -> pb2.DataType | None:
    name = " ".join(text.lower().split())
    name = _SYNONYMS.get(name, name)
    if (member := _PLAIN.get(name)) is not None:
        found = pb2.DataType()
        getattr(found, member).SetInParent()
        return found
    if interval := _INTERVAL.fullmatch(name):
        return _interval(interval[1], interval[2] or interval[1])
    if name.startswith("string collate "):
        return pb2.DataType(string=pb2.DataType.String(collation=text.split()[2].strip("`")))
    if name in _DEFAULT_SIZES:
        return _sized(name, _DEFAULT_SIZES[name])
    sized = _SIZED.fullmatch(name)
    if sized is None or (base := _SYNONYMS.get(sized[1], sized[1])) not in _SIZED_NAMES:
        return None
    return _sized(base, [int(number) for number in sized.groups()[1:] if number is not None])


def _sized(name: str, numbers: list[int]) -> pb2.DataType:
    match name:
        case "decimal":
            precision, scale = (*numbers, 0)[:2]
            return pb2.DataType(decimal=pb2.DataType.Decimal(precision=precision, scale=scale))
        case "time":
            return pb2.DataType(time=pb2.DataType.Time(precision=numbers[0]))
        case _:  # as Spark's own results: the length of char and varchar is checked by writes only
            return pb2.DataType(string=pb2.DataType.String())


_DEFAULT_SIZES = {"decimal": [10, 0], "time": [6]}


def _interval(first: str, last: str) -> pb2.DataType:
    for member, names in _FIELDS.items():
        if first in names:
            found = pb2.DataType()
            interval = getattr(found, member)
            interval.start_field, interval.end_field = names.index(first), names.index(last)
            return found
    raise AssertionError(first)  # unreachable: the pattern has these names alone


def ddl_type(given: pb2.DataType, depth: int = 0, *, not_null: bool = True) -> str:
    """Returns a type's DDL, as in CAST; without `not_null` all fields are nullable. Raises `ConnectFeatureNotSupported`
    for a user-defined type.
    """
    if depth > _DEPTH_MAX:
        raise ConnectPlanInvalid("a data type has too many levels")
    kind = given.WhichOneof("kind")
    value: Any = getattr(given, kind) if kind else None
    inner = partial(ddl_type, depth=depth + 1, not_null=not_null)
    formats: dict[str | None, Callable[[], str]] = {
        "array": lambda: f"array<{inner(value.element_type)}>",
        "map": lambda: f"map<{inner(value.key_type)},{inner(value.value_type)}>",
        "struct": lambda: f"struct<{ddl_columns(value.fields, depth + 1, not_null=not_null)}>",
        "decimal": lambda: f"decimal({value.precision if value.HasField('precision') else 10},{value.scale})",
        "char": lambda: f"char({value.length})",
        "var_char": lambda: f"varchar({value.length})",
        "time": lambda: f"time({value.precision if value.HasField('precision') else 6})",
        "unparsed": lambda: str(value.data_type_string),
        "string": lambda: _string_ddl(value.collation),
        "year_month_interval": lambda: _interval_ddl("year_month_interval", value),
        "day_time_interval": lambda: _interval_ddl("day_time_interval", value),
    }
    if kind in formats:
        return formats[kind]()
    if kind in _DDL:
        return _DDL[kind]
    raise ConnectFeatureNotSupported(f"The data type {kind or 'of a newer client'}")


def ddl_columns(fields: Iterable[pb2.DataType.StructField], depth: int = 0, *, not_null: bool = True) -> str:
    """Returns columns as in CREATE TABLE and in a struct."""
    return ", ".join(
        f"{quote(field.name)} {ddl_type(field.data_type, depth, not_null=not_null)}"
        f"{' NOT NULL' if not_null and not field.nullable else ''}"
        for field in fields
    )


def _string_ddl(collation: str) -> str:
    plain = not collation or collation == "UTF8_BINARY"
    return "string" if plain else f"string collate {collation if collation.isidentifier() else quote(collation)}"


def _interval_ddl(member: str, interval: pb2.DataType.DayTimeInterval) -> str:
    names = _FIELDS[member]
    first = interval.start_field if interval.HasField("start_field") else 0
    last = interval.end_field if interval.HasField("end_field") else len(names) - 1
    if not 0 <= first <= last < len(names):
        raise ConnectPlanInvalid("an interval type has invalid fields")
    return f"interval {names[first]}" + (f" to {names[last]}" if last > first else "")


def tree_lines(struct: pb2.DataType, level: int, prefix: str = " |") -> Iterator[str]:
    """Yields the lines of `printSchema()` below the root, to the depth `level` (0: all)."""
    for field in struct.struct.fields:
        nullable = str(field.nullable).lower()
        yield f"{prefix}-- {field.name}: {_type_name(field.data_type)} (nullable = {nullable})"
        if level != 1:
            yield from _inner_lines(field.data_type, level - 1 if level > 0 else 0, f"{prefix}    |")


def _inner_lines(kind: pb2.DataType, level: int, prefix: str) -> Iterator[str]:
    parts: list[tuple[str, pb2.DataType, str]] = []
    if kind.HasField("struct"):
        yield from tree_lines(kind, level, prefix)
    elif kind.HasField("array"):
        parts = [("element", kind.array.element_type, f"containsNull = {str(kind.array.contains_null).lower()}")]
    elif kind.HasField("map"):
        nullable = f"valueContainsNull = {str(kind.map.value_contains_null).lower()}"
        parts = [("key", kind.map.key_type, ""), ("value", kind.map.value_type, nullable)]
    for name, inner, note in parts:
        yield f"{prefix}-- {name}: {_type_name(inner)}{f' ({note})' if note else ''}"
        if level != 1:
            yield from _inner_lines(inner, level - 1 if level > 0 else 0, f"{prefix}    |")


def _type_name(kind: pb2.DataType) -> str:
    member = kind.WhichOneof("kind") or ""
    return member if member in ("array", "map", "struct", "integer", "long", "short", "byte") else ddl_type(kind)
