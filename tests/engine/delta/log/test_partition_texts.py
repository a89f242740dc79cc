"""Partition values from maps: each file gets its own for any map layout."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from engine.delta.log.file_table import STRING_MAP, encode_partition_values, partition_schema
from engine.pruning.partition_columns import partition_column
from engine.types.schema import DataType, DecimalType, PrimitiveType

Maps = list[dict[str, str | None] | None]


@pytest.mark.parametrize(
    "maps",
    [
        [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}],
        [{"a": "1", "b": "x"}, {"b": "x", "a": "2"}],
        [{"b": "y"}, {"a": "1"}, {}, {"a": None, "b": ""}],
        [None, {"a": "1"}, None],
        [{"c": "1"}, {"c": "2"}],
        [],
    ],
)
@pytest.mark.parametrize("offset", [0, 1])
def test_each_file_gets_the_values_of_its_map(maps: Maps, offset: int) -> None:
    others: Maps = [{"a": "other", "b": "other"}]
    padded = others * offset + maps
    array = pa.array([None if one is None else list(one.items()) for one in padded], STRING_MAP).slice(offset)
    batch = encode_partition_values(array, partition_schema(["a", "b"]))
    wanted = {name: [(one or {}).get(name) for one in maps] for name in ("a", "b")}
    assert batch.to_pydict() == wanted


def column(texts: list[str | None], data_type: DataType, zone: tzinfo | None = UTC, **options: Any) -> Any:
    half = len(texts) // 2
    chunks = [pa.array(part, pa.string()).dictionary_encode() for part in (texts[:half], texts[half:])]
    return partition_column(pa.chunked_array(chunks), data_type, zone, **options)


@pytest.mark.parametrize(
    ("data_type", "texts", "values", "unreadable"),
    [
        (PrimitiveType.STRING, ["b", "", None, "b"], ["b", None, None, "b"], []),
        (PrimitiveType.INTEGER, ["1", "+01", "-5", "2147483648", "1e3", " 1"], [1, 1, -5, None, None, None], [3, 4, 5]),
        (PrimitiveType.BOOLEAN, ["true", "false", "True", "yes"], [True, False, None, None], [2, 3]),
        (PrimitiveType.DOUBLE, ["0.5", "-Infinity", "1d"], [0.5, float("-inf"), None], [2]),
        (DecimalType(5, 2), ["1.5", "1.555", "1000"], ["1.50", None, None], [1, 2]),
        (PrimitiveType.DATE, ["2024-02-29", "2023-02-29", "20240229"], ["2024-02-29", None, None], [1, 2]),
        (PrimitiveType.TIMESTAMP, ["2024-01-01 09:00:00", "2024-01-01T00:00:00.000000Z", "2024-01-01"],
         ["2024-01-01 00:00:00+00:00", "2024-01-01 00:00:00+00:00", None], [2]),
        (PrimitiveType.TIMESTAMP_NTZ, ["2024-01-01 09:00:00.5", "2024-01-01T00:00:00Z"],
         ["2024-01-01 09:00:00.500000", None], [1]),
        (PrimitiveType.BINARY, ["\x01a", "é"], [b"\x01a", None], [1]),
    ],
)  # fmt: skip
def test_texts_become_values_or_are_unreadable(
    data_type: DataType, texts: list[str | None], values: list[Any], unreadable: list[int]
) -> None:
    found = column(texts, data_type, ZoneInfo("Asia/Tokyo"))
    read = [found.values[int(code)].as_py() for code in found.codes]
    assert [
        str(value) if isinstance(wanted, str) else value for value, wanted in zip(read, values, strict=True)
    ] == values
    flags = [found.unreadable is not None and bool(found.unreadable[int(code)]) for code in found.codes]
    assert [index for index, flag in enumerate(flags) if flag] == unreadable


def test_a_timestamp_without_an_offset_is_unreadable_where_no_zone_is_known() -> None:
    found = column(["2024-01-01 09:00:00", "2024-01-01T09:00:00Z"], PrimitiveType.TIMESTAMP, None)
    assert found.unreadable.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("data_type", "texts", "is_canonical"),
    [
        (PrimitiveType.INTEGER, ["1", "2", None], True),
        (PrimitiveType.INTEGER, ["1", "01"], False),
        (PrimitiveType.INTEGER, ["1", "x"], False),
        (PrimitiveType.DOUBLE, ["1.0"], False),
        (PrimitiveType.STRING, ["", None, "a"], True),
    ],
)
def test_canonical_columns_have_one_text_for_each_value(
    data_type: DataType, texts: list[str | None], is_canonical: bool
) -> None:
    assert column(texts, data_type).is_canonical == is_canonical
    assert not column(texts, data_type, is_readable=False).is_canonical
