"""Columns as JSON: json.loads returns the original values."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.log.arrow_json import format_json, format_lines
from engine.delta.log.commit_reader import make_adds
from engine.delta.log.wire_columns import wire_columns
from engine.delta.spec.actions import Add, DeletionVectorDescriptor

STRING_MAP = pa.map_(pa.string(), pa.string())
ROW = pa.struct([("a", pa.int64()), ("b", pa.string()), ("m", STRING_MAP), ("l", pa.list_(pa.int32()))])

texts = st.text(st.characters(codec="utf-8"))
rows = st.none() | st.fixed_dictionaries(
    {
        "a": st.none() | st.integers(-(2**63), 2**63 - 1),
        "b": st.none() | texts,
        "m": st.none() | st.dictionaries(texts, st.none() | texts, max_size=3),
        "l": st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3),
    }
)


def arrow(row: dict[str, Any] | None) -> Any:
    return row and {**row, "m": None if row["m"] is None else list(row["m"].items())}


@given(st.lists(rows, max_size=20), st.integers(0, 5))
def test_json_round_trip(values: list[dict[str, Any] | None], start: int) -> None:
    array = pa.array(map(arrow, values), ROW).slice(start)
    parsed = [None if text is None else json.loads(text) for text in format_json(array).to_pylist()]
    expected = [
        None if row is None else {name: item for name, item in row.items() if item is not None}
        for row in values[start:]
    ]
    assert parsed == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, None]), ["1", None]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array(['a"b\\', "tab\t", "\x00", "ä😀"]), ['"a\\"b\\\\"', '"tab\\t"', '"\\u0000"', '"ä😀"']),
        (pa.array([], pa.string()), []),
        (pa.array([None], STRING_MAP), [None]),
        (pa.array([[("k", None)], []], STRING_MAP), ['{"k":null}', "{}"]),
        (pa.array([{"x": None}], pa.struct([("x", pa.int32())])), ["{}"]),
        (pa.array([{}], pa.struct([])), ["{}"]),
    ],
)
def test_forms(array: Any, expected: list[str | None]) -> None:
    assert format_json(array).to_pylist() == expected


def test_lines_have_an_action_each() -> None:
    batch = pa.RecordBatch.from_pydict({"path": ["a", "b"], "size": [1, None]})
    assert b"".join(format_lines("add", batch)) == b'{"add":{"path":"a","size":1}}\n{"add":{"path":"b"}}\n'
    assert not list(format_lines("add", batch.slice(0, 0)))


def test_a_type_without_a_place_in_the_log_is_refused() -> None:
    with pytest.raises(TypeError, match="binary"):
        format_json(pa.array([b"x"]))


@pytest.mark.parametrize(
    "text", ["plain", 'a"b', "back\\slash", "tab\tnew\nline", "\x00\x1f\x7f", "é 日本 \U0001f600", "", "\u2028"]
)
def test_few_lines_are_written_as_many_are(text: str) -> None:
    vector = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv=text, size_in_bytes=1, cardinality=2)
    rows = [
        Add(
            path=f"{text}{number}",
            partition_values={"p": text, "q": None} if number % 2 else {},
            size=number,
            modification_time=-number,
            data_change=bool(number % 2),
            stats=text or None,
            tags={text: text} if number % 3 else None,
            base_row_id=number if number % 5 else None,
            deletion_vector=None if number % 4 else vector,
        )
        for number in range(40)
    ]
    batch = wire_columns(make_adds(rows))
    singly = b"".join(b"".join(format_lines("add", batch.slice(number, 1))) for number in range(40))
    assert singly == b"".join(format_lines("add", batch))
