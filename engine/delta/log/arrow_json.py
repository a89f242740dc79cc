"""Formats Arrow columns as JSON text, one column at a time.

`format_json` converts an array with any type that occurs in the log to an array with JSON texts. Nulls inside a struct
are omitted, as the log requires; a null in a map or a list is written as `null`; a top-level null stays null. No Python
runs per row, except for strings with control characters, which `json.dumps` escapes one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Array: TypeAlias = Any

# Limits intermediate results, so that they stay small compared to the text for many files.
_LINES_AT_ONCE = 1 << 12
_CONTROL = r"[\x00-\x1f]"
# Up to this number of rows, Python is faster than a few Arrow calls per column.
_FEW_ROWS = 16


def format_json(array: Array) -> Array:
    """Returns each value's JSON text, or null for null. Raises `TypeError` for an unsupported type."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _strings(array.cast(pa.string()))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return pc.cast(array, pa.string())
    if pa.types.is_floating(kind):
        return _floats(array)
    if pa.types.is_date(kind):
        return _quote(pc.cast(array, pa.string()))
    if pa.types.is_timestamp(kind):
        return _timestamps(array)
    if pa.types.is_map(kind):
        return _objects(array)
    if pa.types.is_list(kind):
        return _lists(array)
    if pa.types.is_struct(kind):
        return _structs(array)
    raise TypeError(f"{kind} has no place in the log")


def is_json_scalar(data_type: Any) -> bool:
    """Returns True for a type without children that `format_json` supports."""
    kinds = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_integer,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_floating,
        pa.types.is_date,
        pa.types.is_timestamp,
    )
    return any(is_kind(data_type) for is_kind in kinds)


def format_lines(name: str, batch: Any) -> Iterator[Any]:
    """Yields a line `{"<name>":{...}}` for each row in a record batch with the columns `batch.schema.names`.

    The result consists of buffers with many lines each.
    """
    for start in range(0, batch.num_rows, _LINES_AT_ONCE):
        yield _format_lines(name, batch.slice(start, _LINES_AT_ONCE))


def _format_lines(name: str, batch: Any) -> Any:
    if batch.num_rows <= _FEW_ROWS and all(map(_is_plain, batch.schema.types)):
        values = [column.to_pylist() for column in batch.columns]
        rows = [
            _without_nulls(dict(zip(batch.schema.names, row, strict=True)), batch.schema)
            for row in zip(*values, strict=True)
        ]
        return "".join(
            f'{{"{name}":{json.dumps(row, ensure_ascii=False, separators=(",", ":"))}}}\n' for row in rows
        ).encode()
    rows = _join_fields(list(batch.schema.names), list(batch.columns), batch.num_rows)
    lines = pc.binary_join_element_wise(f'{{"{name}":', rows, "}\n", "")
    offsets = pa.array([0, len(lines)], pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, lines), "")[0].as_buffer()


def _is_plain(data_type: Any) -> bool:
    """Returns whether `json.dumps` writes a type's values as `format_json` does."""
    if pa.types.is_struct(data_type):
        return all(_is_plain(field.type) for field in data_type)
    if pa.types.is_map(data_type):
        return bool(pa.types.is_string(data_type.key_type) and pa.types.is_string(data_type.item_type))
    return bool(pa.types.is_string(data_type) or pa.types.is_integer(data_type) or pa.types.is_boolean(data_type))


def _without_nulls(row: dict[str, Any], fields: Any) -> dict[str, Any]:
    """Returns a struct's non-null fields. Maps are pairs and keep their nulls."""
    present: dict[str, Any] = {}
    for field in fields:
        value = row[field.name]
        if value is None:
            continue
        if pa.types.is_struct(field.type):
            value = _without_nulls(value, field.type)
        elif pa.types.is_map(field.type):
            value = dict(value)
        present[field.name] = value
    return present


def _strings(array: Array) -> Array:
    escaped = pc.replace_substring(pc.replace_substring(array, "\\", "\\\\"), '"', '\\"')
    quoted = pc.binary_join_element_wise('"', escaped, '"', "")
    odd = pc.fill_null(pc.match_substring_regex(array, _CONTROL), False)
    if pc.any(odd).as_py():
        texts = [json.dumps(text, ensure_ascii=False) for text in array.filter(odd).to_pylist()]
        quoted = pc.replace_with_mask(quoted, odd, pa.array(texts, pa.string()))
    return quoted


def _quote(texts: Array) -> Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _floats(array: Array) -> Array:
    """Formats floats. JSON has no numbers for NaN and infinities: they are written as strings, as in Spark."""
    texts = pc.cast(array, pa.string())
    if pc.all(pc.is_finite(array)).as_py() is not False:
        return texts
    spelled = pc.case_when(
        pc.make_struct(pc.is_nan(array), pc.equal(array, float("inf")), pc.equal(array, float("-inf"))),
        '"NaN"',
        '"Infinity"',
        '"-Infinity"',
        texts,
    )
    return spelled


def _timestamps(array: Array) -> Array:
    zone = array.type.tz
    local = array.cast(pa.timestamp("us", zone)).cast(pa.timestamp("us"))
    return _quote(pc.strftime(local, format="%Y-%m-%dT%H:%M:%SZ" if zone else "%Y-%m-%dT%H:%M:%S"))


def _structs(array: Array) -> Array:
    names = [field.name for field in array.type]
    # `flatten` returns the children with the struct's own nulls and offset applied.
    rows = _join_fields(names, array.flatten(), len(array))
    return pc.if_else(array.is_valid(), rows, pa.scalar(None, pa.string()))


def _join_fields(names: list[str], columns: list[Array], length: int) -> Array:
    """Returns JSON objects with the non-null fields."""
    members = [
        pc.coalesce(pc.binary_join_element_wise(f",{json.dumps(name)}:", format_json(column), ""), "")
        for name, column in zip(names, columns, strict=True)
        if column.null_count < length
    ]
    if not members:
        return pa.array(["{}"] * length, pa.string())
    rows = pc.binary_join_element_wise("{", *members, "}", "")
    return pc.replace_substring(rows, "{,", "{", max_replacements=1)


def _objects(array: Array) -> Array:
    offsets, keys, items = _entries(array, array.keys, array.items)
    values = pc.coalesce(format_json(items), "null")
    members = pc.binary_join_element_wise(format_json(keys), values, ":")
    return _wrap(array, offsets, members, "{", "}")


def _lists(array: Array) -> Array:
    offsets, values = _entries(array, array.values)
    return _wrap(array, offsets, pc.coalesce(format_json(values), "null"), "[", "]")


def _entries(array: Array, *children: Array) -> tuple[Array, ...]:
    """Returns offsets that begin at 0 and the matching children. The array may be a slice."""
    offsets = array.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return (pc.subtract(offsets, first), *(child.slice(first, last - first) for child in children))


def _wrap(array: Array, offsets: Array, members: Array, opening: str, closing: str) -> Array:
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, members), ",")
    rows = pc.binary_join_element_wise(opening, joined, closing, "")
    return pc.if_else(array.is_valid(), rows, pa.scalar(None, pa.string()))
