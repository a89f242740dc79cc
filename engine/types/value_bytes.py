"""Computes the memory size of Arrow values in bytes.

pyarrow's attribute `nbytes` reads the offsets of lists without values. Arrow's format permits an empty offsets buffer
in this case, which Java writes; then the process crashes with a segmentation fault, or the number is wrong (pyarrow
26.0.1). Therefore only this module reads the attribute, and only for values without lists.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def value_bytes(values: Any) -> int:
    """Returns the bytes of the rows in an array, chunked array, record batch or table; for a slice, of its own rows.

    Includes validity bits, offsets and children, but not padding; a dictionary counts as a whole. The time depends on
    the number of columns and chunks, not on the number of rows.
    """
    if isinstance(values, pa.ChunkedArray):
        return sum(map(_bytes, values.chunks)) if _has_lists(values.type) else int(values.nbytes)
    if isinstance(values, pa.Array):
        return _bytes(values)
    if not any(map(_has_lists, values.schema.types)):
        return int(values.nbytes)
    return sum(map(value_bytes, values.columns))


def _bytes(values: pa.Array) -> int:
    kind = values.type
    if not len(values):
        return 0
    if not _has_lists(kind):
        return int(values.nbytes)
    if isinstance(values, pa.ExtensionArray):
        return _bytes(values.storage)
    if isinstance(values, pa.DictionaryArray):
        return _bytes(values.indices) + _bytes(values.dictionary)
    if isinstance(values, pa.StructArray):
        return _validity_bytes(values) + sum(_bytes(values.field(i)) for i in range(kind.num_fields))
    if isinstance(values, pa.FixedSizeListArray):
        return _validity_bytes(values) + _bytes(values.values.slice(values.offset * kind.list_size, _items(values)))
    if isinstance(values, pa.ListArray | pa.LargeListArray):
        offsets = values.offsets
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        width = len(values) * int(offsets.type.bit_width) // 8
        return _validity_bytes(values) + width + _bytes(values.values.slice(first, last - first))
    # unions and list views, which do not occur in results: their complete buffers
    return int(values.get_total_buffer_size())


def _items(values: pa.FixedSizeListArray) -> int:
    return len(values) * int(values.type.list_size)


def _validity_bytes(values: pa.Array) -> int:
    if values.buffers()[0] is None:
        return 0
    first = int(values.offset)
    return (first + len(values) + 7) // 8 - first // 8


def _has_lists(kind: pa.DataType) -> bool:
    """Returns whether the type has lists at any depth, or any nesting other than structs."""
    if isinstance(kind, pa.BaseExtensionType):
        return _has_lists(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _has_lists(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_lists(field.type) for field in kind)
    return bool(pa.types.is_nested(kind))
