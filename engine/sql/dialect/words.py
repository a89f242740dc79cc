"""Words of the dialect: names of types, with what each means in a table, and suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
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


_NEAR = 0.7
_WORD_CHARS_MAX = 40


def hint(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing where no known word (upper case) is near."""
    if len(word) > _WORD_CHARS_MAX:
        return ""
    near = get_close_matches(word.upper(), known, n=1, cutoff=_NEAR)
    return f"; did you mean {near[0]}?" if near and near[0] != word.upper() else ""


def wrong_word(words: Sequence[str], rows: Collection[tuple[str, ...]]) -> tuple[int, str]:
    """Of `words` (upper case) that begin none of `rows`: which one is the first wrong one, and a hint for it."""
    count = 0
    left = list(rows)
    while count < len(words):
        fitting = [row for row in left if len(row) > count and row[count] == words[count]]
        if not fitting:
            break
        left, count = fitting, count + 1
    word = words[count] if count < len(words) else ""
    return count, hint(word, sorted({row[count] for row in left if len(row) > count}))
