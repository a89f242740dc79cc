"""Types and values, each written for us and for DuckDB; few values per type, so that conditions match them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Sql(NamedTuple):
    """The same thing in our SQL and in DuckDB's."""

    ours: str
    duck: str


def same(*texts: str) -> tuple[Sql, ...]:
    return tuple(Sql(text, text) for text in texts)


def stamps(*texts: str) -> tuple[Sql, ...]:
    return tuple(Sql(f"TIMESTAMP_NTZ'{text}'", f"TIMESTAMP '{text}'") for text in texts)


def fill(template: str, *parts: Sql) -> Sql:
    """Fills both templates, with `%s` for each part."""
    return Sql(template % tuple(part.ours for part in parts), template % tuple(part.duck for part in parts))


@dataclass(frozen=True)
class Type:
    name: Sql
    values: tuple[Sql, ...]


# Not in updated rows: DuckDB treats it as zero then, and keeps the old value.
NEGATIVE_ZERO = Sql("-0.0D", "-0.0e0")

TYPES = {
    "long": Type(Sql("BIGINT", "BIGINT"), same("0", "3", "-7", "9223372036854775807")),
    "int": Type(Sql("INT", "INT"), same("0", "1", "2", "3", "-2147483648")),
    "string": Type(
        Sql("STRING", "VARCHAR"), same("''", "'a'", "'A'", "'a b'", "' a'", "'a/b=c%20:#?'", "'é€😀'", "'null'", "'z+'")
    ),
    "double": Type(
        Sql("DOUBLE", "DOUBLE"),
        (Sql("double('NaN')", "'NaN'::DOUBLE"), *same("0e0", "1.5e0", "1e300", "-1e-300")),
    ),
    "date": Type(Sql("DATE", "DATE"), same("DATE'2024-02-29'", "DATE'1969-12-31'", "DATE'0001-01-01'")),
    "decimal": Type(Sql("DECIMAL(9,2)", "DECIMAL(9,2)"), same("0.00", "1.25", "-9999999.99")),
    "stamp": Type(
        Sql("TIMESTAMP_NTZ", "TIMESTAMP"),
        stamps("2024-01-01 00:00:00", "2024-01-01 00:00:00.000001", "1900-12-31 23:59:59.999999"),
    ),
    "boolean": Type(Sql("BOOLEAN", "BOOLEAN"), same("true", "false")),
    "struct": Type(
        Sql("STRUCT<a: INT, b: STRING>", "STRUCT(a INT, b VARCHAR)"),
        (
            Sql("named_struct('a', 1, 'b', 'x')", "{'a': 1, 'b': 'x'}"),
            Sql("named_struct('a', NULL, 'b', '')", "{'a': NULL, 'b': ''}"),
        ),
    ),
    "list": Type(
        Sql("ARRAY<INT>", "INT[]"), (Sql("array(1, NULL)", "[1, NULL]"), Sql("CAST(array() AS ARRAY<INT>)", "[]"))
    ),
}
NOT_COMPARED = {"struct", "list"}
NOT_CLUSTERED = {*NOT_COMPARED, "boolean"}
