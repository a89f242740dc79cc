"""Paths of columns and how they are spelled: dotted names, whose parts are in backquotes where they have dots."""

from __future__ import annotations

import re
from typing import TypeAlias

from engine.types.schema import StructField, StructType

Path: TypeAlias = tuple[str, ...]


_PLAIN_PART = re.compile(r"[^`.,\s]+")
_NAME_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def parse_name(text: str) -> Path:
    """The parts of a dotted name; a part with dots of its own is in backquotes."""
    return tuple(
        (quoted.replace("``", "`") if quoted else plain.strip()) for quoted, plain in _NAME_PART.findall(text.strip())
    )


def format_name(parts: Path) -> str:
    """The inverse of `parse_name`."""
    return ".".join(part if _PLAIN_PART.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)


def split_names(text: str) -> list[str]:
    """At the commas outside of backquotes."""
    return [part for part in re.split(r",(?=(?:[^`]*`[^`]*`)*[^`]*$)", text) if part.strip()]


def field_at(schema: StructType, path: Path) -> StructField | None:
    """The field that a path leads to through structs alone, by name as Spark resolves names."""
    field, inside = None, schema
    for depth, name in enumerate(path):
        field = inside.field(name)
        if field is None or depth + 1 == len(path):
            return field
        if not isinstance(field.data_type, StructType):
            return None
        inside = field.data_type
    return field
