"""The names of types in SQL: what each means in a table, and those that only others have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.types.schema import PrimitiveType

PRIMITIVES: Mapping[str, PrimitiveType] = MappingProxyType(
    {
        "BOOLEAN": PrimitiveType.BOOLEAN,
        "TINYINT": PrimitiveType.BYTE,
        "BYTE": PrimitiveType.BYTE,
        "SMALLINT": PrimitiveType.SHORT,
        "SHORT": PrimitiveType.SHORT,
        "INT": PrimitiveType.INTEGER,
        "INTEGER": PrimitiveType.INTEGER,
        "BIGINT": PrimitiveType.LONG,
        "LONG": PrimitiveType.LONG,
        "FLOAT": PrimitiveType.FLOAT,
        "REAL": PrimitiveType.FLOAT,
        "DOUBLE": PrimitiveType.DOUBLE,
        "DATE": PrimitiveType.DATE,
        "TIMESTAMP": PrimitiveType.TIMESTAMP,
        "TIMESTAMP_LTZ": PrimitiveType.TIMESTAMP,
        "TIMESTAMP_NTZ": PrimitiveType.TIMESTAMP_NTZ,
        "STRING": PrimitiveType.STRING,
        "BINARY": PrimitiveType.BINARY,
        "VARIANT": PrimitiveType.VARIANT,
        "VOID": PrimitiveType.VOID,
    }
)
DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
CHARACTERS: Mapping[str, str] = MappingProxyType({"CHAR": "char", "CHARACTER": "char", "VARCHAR": "varchar"})

ELSEWHERE = ("GEOGRAPHY", "GEOMETRY", "INTERVAL", "JSON", "NULL", "OBJECT", "TIME", "UUID", "VOID")
"""Names of types that Spark or others have, and Delta tables do not."""

TYPE_NAMES = (*PRIMITIVES, *DECIMALS, *CHARACTERS, "ARRAY", "MAP", "STRUCT", *ELSEWHERE)
"""Names that a type may begin with."""
