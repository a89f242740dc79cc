"""File statistics, for columns with every type and for a table's selected columns."""

from __future__ import annotations

from tests.oracle.compared.case import Case, files_of, made

_LONG = "repeat('abcdefgh', 8)"
_NTZ = {"feature__timestampNtz": "supported"}
_MAPPED = {"columnMapping__mode": "name"}


def _typed(sql_type: str, *values: str, **properties: str) -> Case:
    """Creates a file with all values and a NULL, and a file with only NULL."""
    rows = " UNION ALL ".join(f"SELECT CAST({value} AS {sql_type})" for value in (*values, "NULL"))
    requested = f"SELECT /*+ COALESCE(1) */ * FROM ({rows}) AS v(c)"
    return made(f"c {sql_type}", *files_of(requested, f"SELECT CAST(NULL AS {sql_type})"), **properties)


_WIDE = ", ".join(f"c{number} INT" for number in range(36))
_WIDE_ROW = "SELECT " + ", ".join(str(number) for number in range(36))
_NESTED = "a INT, s STRUCT<x: INT, y: STRUCT<z: STRING, l: ARRAY<INT>>, t: INT>, m MAP<STRING, INT>, b STRING"
_NESTED_ROW = (
    "SELECT 1, named_struct('x', 2, 'y', named_struct('z', 'zz', 'l', array(1)), 't', 3), map('k', 1), 'b' "
    "UNION ALL SELECT NULL, NULL, NULL, NULL UNION ALL SELECT 2, named_struct('x', 5, 'y', NULL, 't', 6), map(), ''"
)
_NESTED_ROWS = f"SELECT /*+ COALESCE(1) */ * FROM ({_NESTED_ROW})"

STATISTICS_CASES: dict[str, Case] = {
    "boolean": _typed("BOOLEAN", "true", "false"),
    "tinyint": _typed("TINYINT", "-128", "127"),
    "bigint": _typed("BIGINT", "9223372036854775807", "-9223372036854775807 - 1"),
    "float": _typed("FLOAT", "0.1", "-3.4028235E38"),
    "float NaN": _typed("FLOAT", "'NaN'", "1"),
    "float infinite": _typed("FLOAT", "'Infinity'", "1"),
    "double": _typed("DOUBLE", "0.1D", "-1.7976931348623157E308D", "4.9E-324D"),
    "double NaN": _typed("DOUBLE", "'NaN'", "1"),
    "double of only NaN": _typed("DOUBLE", "'NaN'"),
    "double infinite": _typed("DOUBLE", "'-Infinity'", "1"),
    "double zeros": _typed("DOUBLE", "-0.0D", "0.0D"),
    "decimal": _typed("DECIMAL(9, 2)", "1.50", "-2", "1234567.89"),
    "wide decimal": _typed("DECIMAL(38, 18)", "-99999999999999999999.999999999999999999BD", "1E-18BD"),
    "whole decimal": _typed("DECIMAL(20, 0)", "12345678901234567890BD", "0"),
    "date": _typed("DATE", "'2024-02-29'", "'0001-01-01'", "'9999-12-31'"),
    "timestamp": _typed("TIMESTAMP", "'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.001'"),
    "timestamp of microseconds": _typed("TIMESTAMP", "'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.123456'"),
    "early timestamp": _typed("TIMESTAMP", "'0001-01-01 00:00:00'", "'1899-12-31 23:59:59.999999'"),
    "last timestamp": _typed("TIMESTAMP", "'2024-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"),
    "timestamp_ntz": _typed("TIMESTAMP_NTZ", "'2024-01-01 00:00:00.123456'", "'1582-10-10 00:00:00'", **_NTZ),
    "string": _typed("STRING", "'b'", "'a'", "''"),
    "long string": _typed("STRING", _LONG, f"concat({_LONG}, 'z')"),
    "long string of other characters": _typed("STRING", "repeat('é', 50)", "repeat('\U0001f600', 40)"),
    "string of 32": _typed("STRING", "repeat('x', 32)"),
    "string of 33": _typed("STRING", "repeat('x', 33)"),
    "last characters": _typed("STRING", "repeat('\uffff', 40)", "repeat('\U0010ffff', 40)"),
    "odd characters": _typed("STRING", "'a\"b\\\\c\\u0000\\t'", "'\\u2028'"),
    "binary": _typed("BINARY", "X''", "X'00FF'"),
    "char": made("c CHAR(4)", *files_of("SELECT 'ab'", "SELECT NULL")),
    "varchar": made("c VARCHAR(4)", *files_of("SELECT 'ab'", "SELECT NULL")),
    "array": _typed("ARRAY<INT>", "array(1, NULL)", "array()"),
    "map": _typed("MAP<STRING, INT>", "map('a', 1)"),
    "array of structs": _typed("ARRAY<STRUCT<a: INT>>", "array(named_struct('a', 1))"),
    "struct": made(_NESTED, *files_of(_NESTED_ROWS)),
    "struct of only null": _typed("STRUCT<a: INT, b: STRUCT<c: STRING>>"),
    "mapped": made(_NESTED, *files_of(_NESTED_ROWS), **_MAPPED),
    "variant": made("c VARIANT, i INT", *files_of("SELECT parse_json('{\"a\": 1}'), 1", "SELECT NULL, NULL")),
    "no row": made("c INT", *files_of("SELECT 1 WHERE false")),
    "wide": made(_WIDE, *files_of(_WIDE_ROW)),
    "no column": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingNumIndexedCols="0"),
    "first column": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingNumIndexedCols="1"),
    "some columns": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingNumIndexedCols="3"),
    "more columns": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingNumIndexedCols="5"),
    "all columns": made(_WIDE, *files_of(_WIDE_ROW), dataSkippingNumIndexedCols="-1"),
    "some columns, partitioned": made(
        _NESTED, *files_of(_NESTED_ROWS), clauses="PARTITIONED BY (a)", dataSkippingNumIndexedCols="2"
    ),
    "named columns": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingStatsColumns="s.y, b"),
    "named column": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingStatsColumns="s.y.z"),
    "named columns, mapped": made(_NESTED, *files_of(_NESTED_ROWS), dataSkippingStatsColumns="s.t,m", **_MAPPED),
    "named columns win": made(
        _NESTED, *files_of(_NESTED_ROWS), dataSkippingStatsColumns="b", dataSkippingNumIndexedCols="1"
    ),
}
