"""Whatever a partition value's text is, it is a value whose text is the same value, or one named error."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.conditions import PartitionValueNotCastable
from engine.types.partition_values import format_partition_value, parse_partition_value
from engine.types.schema import DecimalType, PrimitiveType

TEXTS = st.text(max_size=12) | st.text("0123456789-+.:TZ eE", max_size=30)
TYPES = st.sampled_from([*PrimitiveType, DecimalType(10, 2), DecimalType(38, 38)])


@settings(max_examples=500)
@given(TEXTS, TYPES)
def test_a_value_or_one_named_error(text: str, data_type: PrimitiveType | DecimalType) -> None:
    try:
        value = parse_partition_value(text, data_type)
    except PartitionValueNotCastable:
        return
    again = parse_partition_value(format_partition_value(value, data_type), data_type)
    assert again == value or (isinstance(value, float | Decimal) and math.isnan(value) and math.isnan(again))  # type: ignore[arg-type]
