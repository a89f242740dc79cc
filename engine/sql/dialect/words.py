"""Words in the dialect: type names with their meaning in a table, and suggestions for mistyped words."""

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

# Type names that Spark or other systems have and Delta tables do not support.
ELSEWHERE = ("GEOGRAPHY", "GEOMETRY", "INTERVAL", "JSON", "NULL", "OBJECT", "TIME", "UUID", "VOID")

# Names that a type may begin with.
TYPE_NAMES = (*PRIMITIVES, *DECIMALS, *CHARACTERS, "ARRAY", "MAP", "STRUCT", *ELSEWHERE)


_NEAR = 0.7
_WORD_CHARS_MAX = 40


def hint(word: str, known: Iterable[str]) -> str:
    """Returns `; did you mean X?`, or an empty text if no known word (upper case) is similar."""
    if len(word) > _WORD_CHARS_MAX:
        return ""
    near = get_close_matches(word.upper(), known, n=1, cutoff=_NEAR)
    return f"; did you mean {near[0]}?" if near and near[0] != word.upper() else ""


def wrong_word(words: Sequence[str], rows: Collection[tuple[str, ...]]) -> tuple[int, str]:
    """Returns the first wrong word's index in `words` (upper case, they match none of `rows`), and a suggestion
    for it.
    """
    count = 0
    left = list(rows)
    while count < len(words):
        fitting = [row for row in left if len(row) > count and row[count] == words[count]]
        if not fitting:
            break
        left, count = fitting, count + 1
    word = words[count] if count < len(words) else ""
    return count, hint(word, sorted({row[count] for row in left if len(row) > count}))
