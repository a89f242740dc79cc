"""Values that no partition can have become null, or are refused."""

from __future__ import annotations

from engine.enforcement.stored_values import fit_partition_values
from engine.types.schema import PrimitiveType
from tests.engine.enforcement.write_plans import STRING, column, plan


def test_texts_that_mean_null_become_null() -> None:
    columns = (column("s", STRING), column("i"), column("other", STRING))
    fitted = fit_partition_values(plan(*columns, table_config={"partition_columns": ("s", "i")}))
    assert fitted.stored_as == {"s": "nullif(nullif(`s`, ''), '__HIVE_DEFAULT_PARTITION__')"}
    assert fitted.checks == ()


def test_bytes_have_to_be_text() -> None:
    columns = (column("b", PrimitiveType.BINARY), column("c"))
    fitted = fit_partition_values(plan(*columns, table_config={"partition_columns": ("b",)}))
    null = b"__HIVE_DEFAULT_PARTITION__".hex()
    assert fitted.stored_as == {"b": f"nullif(nullif(`b`, X''), X'{null}')"}
    (check,) = fitted.checks
    assert check.text == "`b` IS NULL OR is_valid_utf8(CAST(`b` AS STRING))"
    assert check.error({}).condition == "MALFORMED_CHARACTER_CODING"
