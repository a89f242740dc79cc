"""Partition values from the texts that writers give: equal to decoded manifests."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, Transform, TransformKind
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, SimpleType, StructOfType
from engine.iceberg.writing.partition_tuples import partition_columns

_FIELD = PartitionField(source_id=1, field_id=1000, name="p", transform=Transform(TransformKind.IDENTITY))


def values_of(type_: SimpleType, *texts: str | None) -> list[Any]:
    struct = StructOfType((IcebergField(id=1, name="p", type=type_, required=False),))
    spec = PartitionSpec(spec_id=0, fields=(_FIELD,))
    written = [{} if text is None else {"p1000": text} for text in texts]
    found: list[Any] = partition_columns(written, spec, IcebergSchema(schema_id=0, struct=struct))["p1000"].to_pylist()
    return found


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_decimal_keeps_all_its_digits(sign: str) -> None:
    digits = "12345678901234567890123456789012345678"
    type_ = SimpleType(Kind.DECIMAL, precision=38, scale=4)
    none, value = values_of(type_, None, f"{sign}{digits[:-4]}.{digits[-4:]}")
    assert (none, int.from_bytes(value, "big", signed=True)) == (None, int(sign + digits))


@pytest.mark.parametrize("text", ["0.1", "-0.0", "3.4028235E38", "1.4E-45", "Infinity", "-Infinity", "NaN"])
def test_a_float_is_the_number_that_is_stored(text: str) -> None:
    (value,) = values_of(SimpleType(Kind.FLOAT), text)
    assert repr(value) == repr(struct.unpack("<f", struct.pack("<f", float(text)))[0])
    assert repr(values_of(SimpleType(Kind.DOUBLE), text)) == repr([float(text)])


def test_a_decimal_is_as_short_as_it_can_be() -> None:
    """Decoded manifests have the same, for any type width."""
    assert values_of(SimpleType(Kind.DECIMAL, precision=18, scale=2), "-1.28", "1.28", "0") == [
        b"\x80",
        b"\0\x80",
        b"\0",
    ]
