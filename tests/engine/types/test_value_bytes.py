"""Arrow value bytes: slices, nested types, NULL and empty children, and lists without offsets."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from engine.types.value_bytes import value_bytes

INTS, TEXTS = pa.list_(pa.int32()), pa.list_(pa.string())
NO_OFFSETS = pa.foreign_buffer(0, 0)
NO_OFFSETS_KINDS = (
    pa.map_(pa.int32(), TEXTS),
    pa.map_(pa.string(), pa.map_(pa.int32(), TEXTS)),
    pa.list_(pa.map_(pa.string(), INTS)),
    pa.list_(pa.list_(TEXTS)),
    pa.struct({"a": pa.list_(pa.map_(pa.string(), pa.int32()))}),
)


def without_offsets(kind: Any, count: int = 0) -> Any:
    """Returns `count` NULLs with the type, whose empty children have no offsets, as in a message from Java's Arrow."""
    if pa.types.is_struct(kind):
        buffers, children = [None], [without_offsets(field.type, count) for field in kind]
    elif pa.types.is_map(kind):
        buffers, children = [None, None], [without_offsets(pa.struct([kind.key_field, kind.item_field]))]
    elif pa.types.is_list(kind):
        buffers, children = [None, None], [without_offsets(kind.value_type)]
    else:
        return pa.nulls(count, kind)
    if len(buffers) > 1:
        buffers[1] = pa.py_buffer(bytes(4 * (count + 1))) if count else NO_OFFSETS
    buffers[0] = pa.py_buffer(b"\0") if count else None
    return pa.Array.from_buffers(kind, count, buffers, null_count=count, children=children)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1, 2, None], pa.int32()), 1 + 12),
        (pa.array(["a", None, "bb"]), 1 + 12 + 3),
        (pa.array([True] * 9), 2),
        (pa.array([[1, 2], None, [], [3]], INTS), 1 + 16 + 12),
        (pa.array([[1, 2], None, [], [3]], INTS).slice(1), 1 + 12 + 4),
        (pa.array([[1, 2], None, [], [3]], INTS).slice(1, 2), 1 + 8),
        (pa.array([[1, 2], [3]], pa.large_list(pa.int32())), 16 + 12),
        (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int16(), 2)), 1 + (1 + 12)),
        (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int16(), 2)).slice(2), 1 + (1 + 4)),
        (pa.array([[("k", [1])], None, []], pa.map_(pa.string(), INTS)), 1 + 12 + (4 + 1) + (4 + 4)),
        (pa.array([[["a"], [], None]], pa.list_(TEXTS)), 4 + (1 + 12) + (4 + 1)),
        (pa.array([{"a": [1], "b": 2}, {"a": [], "b": 3}], pa.struct({"a": INTS, "b": pa.int32()})), 8 + 4 + 8),
        (pa.array(["a", "b", "a"]).dictionary_encode(), 12 + 8 + 2),
        (pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array([[1, 2]], INTS)), 2 + 4 + 8),
        (pa.nulls(5), 0),
        (pa.array([None, None], INTS), 1 + 8),
        (pa.array([], INTS), 0),
        (pa.array([[1], [2]], INTS).slice(2), 0),
        (pa.chunked_array([pa.array([[1]], INTS), pa.array([[2, 3]], INTS)]), 8 + 12),
        (pa.table({"a": pa.array([[1]], INTS), "b": pa.array([1], pa.int64())}), 8 + 8),
        (pa.record_batch({"a": pa.array([1], pa.int64())}), 8),
    ],
)
def test_bytes_of_values(values: Any, expected: int) -> None:
    assert value_bytes(values) == expected


@pytest.mark.parametrize("kind", NO_OFFSETS_KINDS, ids=str)
def test_lists_without_offsets_have_no_bytes_of_children(kind: Any) -> None:
    values = without_offsets(kind, 2)
    expected = 1 + (value_bytes(values.field(0)) if pa.types.is_struct(kind) else 8)
    assert value_bytes(values) == value_bytes(pa.table({"c": values})) == expected
    assert value_bytes(values.slice(1)) == 1 + (expected - 1) // 2 + (1 if pa.types.is_struct(kind) else 0)
    assert value_bytes(values.slice(2)) == 0
