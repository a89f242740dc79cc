"""Column paths and their spelling: dotted names, with backquotes around parts that contain dots."""

from __future__ import annotations

import re
from typing import TypeAlias

from engine.types.schema import StructField, StructType

Path: TypeAlias = tuple[str, ...]


_PLAIN_PART = re.compile(r"[^`.,\s]+")
_NAME_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def parse_name(text: str) -> Path:
    """Splits a dotted name into parts; a part that contains dots is in backquotes."""
    return tuple(
        (quoted.replace("``", "`") if quoted else plain.strip()) for quoted, plain in _NAME_PART.findall(text.strip())
    )


def format_name(parts: Path) -> str:
    """Joins parts; the inverse of `parse_name`."""
    return ".".join(part if _PLAIN_PART.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)


def split_names(text: str) -> list[str]:
    """Splits at commas outside backquotes."""
    return [part for part in re.split(r",(?=(?:[^`]*`[^`]*`)*[^`]*$)", text) if part.strip()]


def field_at(schema: StructType, path: Path) -> StructField | None:
    """Returns the field at a path through structs only, by name as Spark resolves names, or None."""
    field, inside = None, schema
    for depth, name in enumerate(path):
        field = inside.field(name)
        if field is None or depth + 1 == len(path):
            return field
        if not isinstance(field.data_type, StructType):
            return None
        inside = field.data_type
    return field
