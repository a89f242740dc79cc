"""SQL types as PostgreSQL's: object ids, lengths and modifiers. Pure.

A type without a counterpart is text, and nested values are JSON. Arrays of scalars are arrays; their element types have
an array type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from engine.runtime.results import sql_type_of

TEXT_FORMAT, BINARY_FORMAT = 0, 1
_VARIABLE = -1
# The header of a value with a modifier, which PostgreSQL counts in.
_MODIFIER_HEADER = 4


@dataclass(frozen=True, slots=True)
class PgType:
    """A type: its name, object id, the id of its array type (0: none), its length in bytes (-1: variable) and
    modifier.
    """

    name: str
    oid: int
    array_oid: int
    length: int = _VARIABLE
    modifier: int = -1
    # The type of an array's elements.
    element: PgType | None = None


BOOL = PgType("bool", 16, 1000, 1)
BYTEA = PgType("bytea", 17, 1001)
CHAR = PgType("char", 18, 1002, 1)
NAME = PgType("name", 19, 1003, 64)
INT8 = PgType("int8", 20, 1016, 8)
INT2 = PgType("int2", 21, 1005, 2)
INT4 = PgType("int4", 23, 1007, 4)
TEXT = PgType("text", 25, 1009)
OID = PgType("oid", 26, 1028, 4)
JSON = PgType("json", 114, 199)
FLOAT4 = PgType("float4", 700, 1021, 4)
FLOAT8 = PgType("float8", 701, 1022, 8)
UNKNOWN = PgType("unknown", 705, 0, -2)
BPCHAR = PgType("bpchar", 1042, 1014)
VARCHAR = PgType("varchar", 1043, 1015)
DATE = PgType("date", 1082, 1182, 4)
TIME = PgType("time", 1083, 1183, 8)
TIMESTAMP = PgType("timestamp", 1114, 1115, 8)
TIMESTAMPTZ = PgType("timestamptz", 1184, 1185, 8)
INTERVAL = PgType("interval", 1186, 1187, 16)
NUMERIC = PgType("numeric", 1700, 1231)
UUID = PgType("uuid", 2950, 2951, 16)
VOID = PgType("void", 2278, 0, 4)
JSONB = PgType("jsonb", 3802, 3807)
_ALL = (
    *(BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID, JSON, FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR, DATE, TIME),
    *(TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC, UUID, VOID, JSONB),
)


def array_of(element: PgType) -> PgType:
    """Returns the type of arrays with these elements; its name begins with an underscore, as in pg_type."""
    return PgType(f"_{element.name}", element.array_oid, 0, modifier=element.modifier, element=element)


# Arrays of the system catalog, with a text format of their own.
VECTORS = (PgType("int2vector", 22, 1006, element=INT2), PgType("oidvector", 30, 1013, element=OID))

# By object id, with the array types.
TYPES: Mapping[int, PgType] = MappingProxyType(
    {one.oid: one for one in (*_ALL, *VECTORS)} | {one.array_oid: array_of(one) for one in _ALL if one.array_oid}
)

_SCALARS: Mapping[str, PgType] = MappingProxyType(
    {
        "boolean": BOOL,
        "tinyint": INT2,
        "smallint": INT2,
        "int": INT4,
        "bigint": INT8,
        "float": FLOAT4,
        "double": FLOAT8,
        "string": TEXT,
        "binary": BYTEA,
        "date": DATE,
        "timestamp": TIMESTAMPTZ,
        "timestamp_ntz": TIMESTAMP,
        "variant": JSONB,
        "void": TEXT,
    }
)
_SIZED = re.compile(r"(decimal|varchar|char|string|time)\b ?(?:\((\d+)(?:, ?(\d+))?\))?( collate .*)?")
_NESTED = ("map<", "struct<", "array<")
# The type of a parameter as Spark casts it; the others are cast to their own name.
_SPARK_NAMES: Mapping[int, str] = MappingProxyType(
    {
        BOOL.oid: "boolean",
        BYTEA.oid: "binary",
        INT8.oid: "bigint",
        INT2.oid: "smallint",
        INT4.oid: "int",
        OID.oid: "bigint",
        FLOAT4.oid: "float",
        FLOAT8.oid: "double",
        DATE.oid: "date",
        TIME.oid: "time(6)",
        TIMESTAMP.oid: "timestamp_ntz",
        TIMESTAMPTZ.oid: "timestamp",
        NUMERIC.oid: "decimal(38,18)",
        INTERVAL.oid: "interval",
    }
)


def pg_type(sql_type: str) -> PgType:
    """Returns the type of a column or a parameter with this SQL type in Spark's DDL spelling."""
    spelled = sql_type.lower()
    found = _SCALARS.get(spelled)
    if found is not None:
        return found
    if spelled.startswith("array<") and spelled.endswith(">"):
        element = pg_type(spelled[len("array<") : -1])
        is_nested = element.element is not None or spelled[len("array<") :].startswith(_NESTED)
        return JSON if is_nested or not element.array_oid else array_of(element)
    if spelled.startswith(_NESTED):
        return JSON
    if spelled.startswith("interval"):
        return INTERVAL
    sized = _SIZED.fullmatch(spelled)
    return TEXT if sized is None else _with_size(sized)


def _with_size(sized: re.Match[str]) -> PgType:
    match sized[1]:
        case "decimal":
            precision, scale = int(sized[2] or 10), int(sized[3] or 0)
            return replace(NUMERIC, modifier=((precision << 16) | scale) + _MODIFIER_HEADER)
        case "varchar":
            return VARCHAR if sized[2] is None else replace(VARCHAR, modifier=int(sized[2]) + _MODIFIER_HEADER)
        case "char":
            return BPCHAR if sized[2] is None else replace(BPCHAR, modifier=int(sized[2]) + _MODIFIER_HEADER)
        case "time":
            return TIME
        case _:  # a string, which may have a collation
            return TEXT


def spark_type(oid: int) -> str:
    """Returns Spark's name of the type of a parameter; `string` for one without a counterpart."""
    found = TYPES.get(oid)
    if found is not None and found.element is not None:
        return f"array<{spark_type(found.element.oid)}>"
    return _SPARK_NAMES.get(oid, "string")


_OF_TEXTS = {one.name: one for one in (JSON, JSONB, UUID)}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result; `sql_type` is Spark's."""

    name: str
    type: PgType
    sql_type: str = "string"


def columns_of(schema: pa.Schema, types: Sequence[str | None] = ()) -> tuple[Column, ...]:
    """Returns the columns of a result of the engine; `types` as for :func:`typed_columns`."""
    return typed_columns([(field.name, sql_type_of(field)) for field in schema], types)


def typed_columns(described: Sequence[tuple[str, str]], types: Sequence[str | None] = ()) -> tuple[Column, ...]:
    """Returns columns with these names and SQL types; `types` are the names of types that texts have, if not None."""
    known = types if len(types) == len(described) else [None] * len(described)
    return tuple(
        Column(name, pg_type(kind) if one is None or pg_type(kind) is not TEXT else _OF_TEXTS[one], kind)
        for (name, kind), one in zip(described, known, strict=True)
    )
