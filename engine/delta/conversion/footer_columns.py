"""Maps a Parquet file's columns to fields in a table with column ids, with the types in the file.

If columns were renamed, files contain them under several names, and a name may belong to another column now; therefore
statistics are found by id. Files older than a type change have the narrower type.

Protocol: "Column Mapping" (mode `id`), "Type Widening".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from engine.delta.conversion.parquet_types import leaf_type
from engine.tables.scan import FIELD_ID
from engine.tables.shared_files import STORED_NAMES
from engine.types.schema import ArrayType, DataType, MapType, PrimitiveType, StructField, StructType, format_data_type
from engine.types.schema_changes import is_widening

_FILE_ID = b"PARQUET:field_id"
# Types that occur in files, with the table type that has the same storage.
_STORED_AS = {
    PrimitiveType.BYTE: PrimitiveType.INTEGER,
    PrimitiveType.SHORT: PrimitiveType.INTEGER,
}


class NotShared(Exception):
    """The reason why a file's columns do not match the table's."""


@dataclass(slots=True)
class FooterColumns:
    """A file's columns. `positions` has leaf positions by dotted physical path, outside arrays and maps. `ids` has the
    fields in the file, `narrower` those with a narrower type. The file is read correctly by ids if `has_ids`, by
    physical names if `has_names`.
    """

    has_ids: bool = True
    has_names: bool = True
    positions: dict[str, int] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)
    narrower: dict[int, DataType] = field(default_factory=dict)


def footer_columns(footer: Any, schema: StructType) -> FooterColumns:
    """Maps a footer's columns. Raises `NotShared`."""
    found = FooterColumns()
    reader = _Reader(footer, found)
    reader.struct(list(footer.schema.to_arrow_schema()), schema, ())
    counts = Counter(reader.paths)
    found.positions = {path: found.positions[path] for path in found.positions if counts[path] == 1}
    return found


def stored_name(item: StructField) -> str:
    """Returns a field's physical name: one that files use for this field or for none."""
    names = item.metadata.get(STORED_NAMES)
    if names is None:
        return item.name
    return str(names[0]) if names else f"col-{item.metadata[FIELD_ID]}"


class _Reader:
    """Consumes a footer's leaves, which are in column order."""

    def __init__(self, footer: Any, found: FooterColumns) -> None:
        self._footer = footer
        self._found = found
        self._next = 0
        self.paths: list[str] = []

    def struct(self, columns: list[pa.Field], known: StructType | None, path: tuple[str, ...] | None) -> None:
        """Reads a struct. `path` None: within an array or a map. `known` None: the table lacks it."""
        items = () if known is None else known.fields
        aliases = {name for each in items for name in each.metadata.get(STORED_NAMES, ())[1:]}
        by_id, by_name = (
            {each.metadata[FIELD_ID]: each for each in items},
            {stored_name(each): each for each in items},
        )
        for column in columns:
            number = (column.metadata or {}).get(_FILE_ID)
            named = by_name.get(column.name)
            # The id decides if there is one: the name may have passed to another column.
            item = named if number is None else by_id.get(int(number))
            self._found.has_ids &= number is not None or not items
            self._found.has_names &= item is named and column.name not in aliases
            if item is not None:
                self._found.ids.add(item.metadata[FIELD_ID])
            inner = None if path is None or item is None else (*path, stored_name(item))
            self._below(column, item, None if item is None else item.data_type, inner)

    def _below(
        self, column: pa.Field, item: StructField | None, known: DataType | None, path: tuple[str, ...] | None
    ) -> None:
        type_ = column.type
        if pa.types.is_struct(type_):
            self.struct(list(type_), _as(StructType, known, column), path)
        elif pa.types.is_map(type_):
            table = _as(MapType, known, column)
            self._below(type_.key_field, None, None if table is None else table.key_type, None)
            self._below(type_.item_field, None, None if table is None else table.value_type, None)
        elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
            array = _as(ArrayType, known, column)
            self._below(type_.value_field, None, None if array is None else array.element_type, None)
        else:
            self._leaf(column, item, known, path)

    def _leaf(
        self, column: pa.Field, item: StructField | None, known: DataType | None, path: tuple[str, ...] | None
    ) -> None:
        position, self._next = self._next, self._next + 1
        if known is None:
            return
        stored = leaf_type(column.type, self._footer.schema.column(position))
        stored = stored if known == stored or not isinstance(stored, PrimitiveType) else _STORED_AS.get(stored, stored)
        if stored != known:
            if item is None or stored is None or not is_widening(stored, known):
                raise NotShared(
                    f"its column {column.name} is stored as {column.type}, not as {format_data_type(known)}"
                )
            self._found.narrower[item.metadata[FIELD_ID]] = stored
        if (
            item is not None and path is not None and (stored == known or stored is not PrimitiveType.DATE)
        ):  # date bounds are not timestamp bounds
            self.paths.append(".".join(path))
            self._found.positions[self.paths[-1]] = position


def _as(kind: type[Any], known: DataType | None, column: pa.Field) -> Any:
    if known is not None and not isinstance(known, kind):
        raise NotShared(f"its column {column.name} is stored as {column.type}, not as {format_data_type(known)}")
    return known
