"""SQL types in JDBC's terms: java.sql.Types codes, sizes and digits for GetColumns and GetTypeInfo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_HEAD = re.compile(r"(interval|[a-z_]+)(?:\(([\d, ]+)\))?")
_PIECE = re.compile(r"[a-z]+<|[^<>,(]+(?:\([^)]*\))?|.", re.DOTALL)
_UNBOUNDED = 2**31 - 1
_SEARCHABLE, _UNSEARCHABLE = 3, 0


@dataclass(frozen=True, slots=True)
class JdbcType:
    """A JDBC type. `size`: digits for a number, characters for a text or a value as text. `radix` 10: decimal
    digits.
    """

    name: str
    code: int
    size: int | None = None
    digits: int | None = None
    radix: int | None = None


_TIMESTAMP = JdbcType("TIMESTAMP", 93, 29, 6)
JDBC_TYPES: Mapping[str, JdbcType] = {
    "void": JdbcType("VOID", 0),
    "boolean": JdbcType("BOOLEAN", 16, 1),
    "tinyint": JdbcType("TINYINT", -6, 3, 0, 10),
    "smallint": JdbcType("SMALLINT", 5, 5, 0, 10),
    "int": JdbcType("INT", 4, 10, 0, 10),
    "bigint": JdbcType("BIGINT", -5, 19, 0, 10),
    "float": JdbcType("FLOAT", 6, 7, 7, 10),
    "double": JdbcType("DOUBLE", 8, 15, 15, 10),
    "decimal": JdbcType("DECIMAL", 3, 38, 38, 10),
    "string": JdbcType("STRING", 12, _UNBOUNDED),
    "varchar": JdbcType("VARCHAR", 12, _UNBOUNDED),
    "char": JdbcType("CHAR", 1, 255),
    "binary": JdbcType("BINARY", -2, _UNBOUNDED),
    "date": JdbcType("DATE", 91, 10),
    "timestamp": _TIMESTAMP,
    "timestamp_ntz": replace(_TIMESTAMP, name="TIMESTAMP_NTZ"),
    "timestamp_ltz": replace(_TIMESTAMP, name="TIMESTAMP_LTZ"),
    "interval": JdbcType("INTERVAL", 1111),
    "array": JdbcType("ARRAY", 2003),
    "map": JdbcType("MAP", 2000),
    "struct": JdbcType("STRUCT", 2002),
    "variant": JdbcType("VARIANT", 12, _UNBOUNDED),
}


def describe_type(sql_type: str) -> JdbcType:
    """Returns the type for Spark's short spelling. Its name is `DataType.sql`'s."""
    head = _HEAD.match(sql_type)
    base = JDBC_TYPES.get(head[1], JDBC_TYPES["string"]) if head else JDBC_TYPES["string"]
    base = replace(base, name=_upper(sql_type))
    if head is None or head[2] is None or base.code not in (1, 3, 12):
        return base
    numbers = [int(number) for number in head[2].split(",")]
    return replace(base, size=numbers[0], digits=numbers[1] if len(numbers) > 1 else base.digits)


def _upper(sql_type: str) -> str:
    """Returns `STRUCT<name: STRING, Age: INT>` for `struct<name:string,Age:int>`, as Spark's own server does."""
    text, kinds, at = "", [""], 0
    while at < len(sql_type):
        colon = sql_type.find(":", at)
        if kinds[-1] == "struct" and sql_type[at - 1] in "<," and sql_type[at] != ">" and colon > 0:
            text, at = f"{text}{sql_type[at:colon]}: ", colon + 1  # a field name, which is case-sensitive
            continue
        piece = _PIECE.match(sql_type, at)
        assert piece is not None  # any character is a piece
        at, word = piece.end(), piece[0]
        if word.endswith("<"):
            kinds.append(word[:-1])
        elif word == ">" and len(kinds) > 1:
            kinds.pop()
        text += ", " if word == "," else word.upper()
    return text


def _type_row(name: str, kind: JdbcType) -> Mapping[str, Any]:
    is_text = name in ("string", "varchar", "char")
    is_nested = name in ("array", "map", "struct", "variant")
    return {
        "TYPE_NAME": kind.name,
        "DATA_TYPE": kind.code,
        "PRECISION": kind.size,
        "LITERAL_PREFIX": "'" if is_text else None,
        "LITERAL_SUFFIX": "'" if is_text else None,
        "CREATE_PARAMS": {"decimal": "precision,scale", "varchar": "length", "char": "length"}.get(name),
        "NULLABLE": 1,
        "CASE_SENSITIVE": is_text,
        "SEARCHABLE": _UNSEARCHABLE if is_nested else _SEARCHABLE,
        "UNSIGNED_ATTRIBUTE": kind.radix is None,
        "FIXED_PREC_SCALE": False,
        "AUTO_INCREMENT": False,
        "MINIMUM_SCALE": 0,
        "MAXIMUM_SCALE": kind.digits if name == "decimal" else 0,
        "NUM_PREC_RADIX": kind.radix,
    }


# GetTypeInfo's rows, ordered by type code as JDBC requires.
TYPE_INFO: tuple[Mapping[str, Any], ...] = tuple(
    _type_row(name, kind) for name, kind in sorted(JDBC_TYPES.items(), key=lambda item: (item[1].code, item[0]))
)
