"""Kinds of tables for the tests that other readers read our writes, and that forbidden writes are rejected.

Every table has a last column `p`, so that all can be partitioned and replaced in part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

NOT_NULL = "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
CONSTRAINT = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """`first` and `second` are rows as SQL text, a value for each column in `columns`."""

    # Name, quoted if needed -> its definition in CREATE TABLE, the type first.
    columns: dict[str, str]
    first: tuple[str, ...]
    second: tuple[str, ...]
    # The columns that INSERT gives; the table must come to the others' values by itself. Empty: all.
    given: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    # Then nothing partitions the table.
    clustered: tuple[str, ...] = ()
    table_checks: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    # A row as `columns and values` for an INSERT, without `p`; the condition that rejects it.
    violations: tuple[tuple[str, str], ...] = ()
    # If a query can create the table too: nothing depends on a column list.
    as_select: bool = True
    # Rows may go.
    replaces: bool = True

    def partitions(self, *others: str) -> tuple[str, ...]:
        """Returns the partition columns, with `others` added."""
        return () if self.clustered else (*self.partition, *others)

    def unread(self, peer: str, *, partitioned: bool) -> bool:
        """Returns if the peer cannot read this table unchanged."""
        return any(
            other == peer and other_key in self.properties and (partitioned or not if_partitioned)
            for (other, other_key, if_partitioned) in UNREAD
        )


# (peer, property, only if partitioned) -> the peer's limitation.
UNREAD = {
    ("deltalake", "delta.enableTypeWidening", False): "has no typeWidening, not even where nothing was widened",
    ("duckdb", "delta.columnMapping.mode", True): "shows partition values of mapped columns as NULL: duckdb-delta #343",
}


def plain(**properties: str) -> Feature:
    """Returns a table where only its properties matter."""
    return Feature(
        columns={"k": "INT", "s": "STRING"},
        first=("1, 'a'", "2, NULL", "NULL, ''"),
        second=("3, 'ü'",),
        properties={key.replace("__", "."): value for key, value in properties.items()},
    )


def of_type(sql_type: str, *values: str) -> Feature:
    """Returns a table partitioned by a column with this type."""
    rows = tuple(f"{number}, CAST({value} AS {sql_type})" for number, value in enumerate((*values, "NULL")))
    return Feature(columns={"k": "INT", "d": sql_type}, first=rows, second=rows[:1], partition=("d",))


PRIMITIVES = {
    "bo": ("BOOLEAN", "true", "false"),
    "ti": ("TINYINT", "-128", "127"),
    "sm": ("SMALLINT", "-32768", "32767"),
    "i": ("INT", "-2147483648", "2147483647"),
    "b": ("BIGINT", "-9223372036854775807 - 1", "9223372036854775807"),
    "f": ("FLOAT", "-3.4028235E38", "1.4E-45"),
    "fn": ("FLOAT", "'NaN'", "'-Infinity'"),
    "d": ("DOUBLE", "-1.7976931348623157E308D", "4.9E-324D"),
    "dn": ("DOUBLE", "'NaN'", "'Infinity'"),
    "dz": ("DOUBLE", "'-0.0'", "0.0D"),
    "c9": ("DECIMAL(9, 2)", "-9999999.99", "9999999.99"),
    "c18": ("DECIMAL(18, 0)", "-999999999999999999", "999999999999999999"),
    "c38": ("DECIMAL(38, 18)", "-99999999999999999999.999999999999999999", "0.000000000000000001"),
    "s": ("STRING", "''", "concat('é', repeat('x', 5000), '\\u0000', '\U0001f600')"),
    "y": ("BINARY", "X''", "X'00FF7F80'"),
    "da": ("DATE", "'0001-01-01'", "'9999-12-31'"),
    "dj": ("DATE", "'1582-10-04'", "'1582-10-15'"),
    "ts": ("TIMESTAMP", "'0001-01-01 00:00:00Z'", "'9999-12-31 23:59:59.999999Z'"),
    "tj": ("TIMESTAMP", "'1582-10-04 23:59:59.999999Z'", "'1899-12-31 12:00:00.000001+05:30'"),
    "tn": ("TIMESTAMP_NTZ", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"),
}


def _row(number: int) -> str:
    return ", ".join(f"CAST({[*texts, 'NULL'][number]} AS {sql_type})" for sql_type, *texts in PRIMITIVES.values())


NESTED = {
    "st": "STRUCT<a: INT, b: STRUCT<c: STRING, d: DECIMAL(5, 2)>>",
    "arr": "ARRAY<ARRAY<INT>>",
    "m": "MAP<STRING, STRUCT<x: INT, y: ARRAY<DATE>>>",
    "arrs": "ARRAY<STRUCT<t: TIMESTAMP, m: MAP<INT, STRING>>>",
}

FEATURES: dict[str, Feature] = {
    "plain": plain(),
    "primitives": Feature(
        columns={name: texts[0] for name, texts in PRIMITIVES.items()},
        first=(_row(0), _row(1), _row(2)),
        second=(_row(1),),
    ),
    "nested": Feature(
        columns=NESTED,
        first=(
            "named_struct('a', 1, 'b', named_struct('c', 'x', 'd', 1.50BD)), array(array(1, NULL), array(), NULL), "
            "map('k', named_struct('x', 1, 'y', array(DATE'0001-01-01'))), "
            "array(named_struct('t', TIMESTAMP'2024-01-01 00:00:00Z', 'm', map(1, 'one', 2, NULL)))",
            "named_struct('a', NULL, 'b', NULL), array(), map(), array()",
            "NULL, NULL, NULL, NULL",
        ),
        second=("named_struct('a', 7, 'b', NULL), array(), map('n', NULL), array(NULL)",),
    ),
    "char and varchar": Feature(
        columns={"k": "INT", "c": "CHAR(4)", "v": "VARCHAR(3)"},
        first=("1, 'ab  ', 'abc'", "2, NULL, NULL"),
        second=("3, 'äöü ', 'äöü'",),
        violations=(
            ("(v) VALUES ('abcd')", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
            ("(c) VALUES ('abcde')", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
        ),
    ),
    "odd names": Feature(
        columns={"`a b`": "INT", "`x.y`": "STRING", "`sélect ``from``,;{}()=`": "INT", "`__check0`": "INT"},
        first=("1, 'a', 2, 3", "NULL, NULL, NULL, NULL"),
        second=("4, 'b', 5, 6",),
        properties={"delta.columnMapping.mode": "name"},
        table_checks="CONSTRAINT `d.ot ted` CHECK (`x.y` <> 'no' OR `a b` IS NULL), "
        "CHECK (`__check0` IS NULL OR `__check0` > 0)",
        as_select=False,
        violations=(
            ("(`a b`, `x.y`) VALUES (1, 'no')", CONSTRAINT),
            ("(`__check0`) VALUES (0)", CONSTRAINT),
        ),
    ),
    "mapped by name": Feature(
        columns={"k": "INT", "`a b`": "STRUCT<`x.y`: INT, z: ARRAY<STRUCT<`q r`: INT>>>", "`p q`": "STRING"},
        first=("1, named_struct('x.y', 1, 'z', array(named_struct('q r', 2))), 'u v'", "2, NULL, NULL"),
        second=("3, named_struct('x.y', NULL, 'z', NULL), 'u v'",),
        properties={"delta.columnMapping.mode": "name"},
    ),
    "mapped by id": Feature(
        columns={"k": "INT", "`a b`": "STRUCT<`x.y`: INT, z: ARRAY<STRUCT<`q r`: INT>>>", "`p q`": "STRING"},
        first=("1, named_struct('x.y', 1, 'z', array(named_struct('q r', 2))), 'u v'", "2, NULL, NULL"),
        second=("3, named_struct('x.y', NULL, 'z', NULL), 'u v'",),
        partition=("`p q`",),
        properties={"delta.columnMapping.mode": "id"},
    ),
    "checks": Feature(
        columns={"k": "INT", "d": "DOUBLE", "s": "STRUCT<n: INT>"},
        first=("1, 0.5D, named_struct('n', 1)", "2, 1.0D, named_struct('n', 2)"),
        second=("3, 0.25D, named_struct('n', 3)",),
        table_checks="CONSTRAINT bound CHECK (d <= 1), CONSTRAINT inner_n CHECK (s.n > 0), CHECK (K <> 9)",
        as_select=False,
        violations=(
            ("VALUES (4, 2, named_struct('n', 1), 2)", CONSTRAINT),
            ("VALUES (4, double('NaN'), named_struct('n', 1), 2)", CONSTRAINT),
            ("VALUES (4, NULL, named_struct('n', 1), 2)", CONSTRAINT),
            ("VALUES (4, 1, named_struct('n', 0), 2)", CONSTRAINT),
            ("VALUES (4, 1, NULL, 2)", CONSTRAINT),
            ("VALUES (9, 1, named_struct('n', 1), 2)", CONSTRAINT),
        ),
    ),
    "not null": Feature(
        columns={
            "k": "INT NOT NULL",
            "s": "STRUCT<a: INT NOT NULL, b: STRUCT<c: INT NOT NULL>>",
            "arr": "ARRAY<STRUCT<e: INT NOT NULL>>",
        },
        first=("1, named_struct('a', 1, 'b', named_struct('c', 2)), array(named_struct('e', 1), NULL)",),
        second=("2, named_struct('a', 3, 'b', named_struct('c', 4)), NULL",),
        as_select=False,
        violations=(
            ("VALUES (NULL, named_struct('a', 1, 'b', named_struct('c', 2)), NULL, 2)", NOT_NULL),
            ("VALUES (1, named_struct('a', NULL, 'b', named_struct('c', 2)), NULL, 2)", NOT_NULL),
            ("VALUES (1, named_struct('a', 1, 'b', named_struct('c', NULL)), NULL, 2)", NOT_NULL),
            ("VALUES (1, NULL, NULL, 2)", NOT_NULL),
            (
                "VALUES (1, named_struct('a', 1, 'b', named_struct('c', 1)), array(named_struct('e', NULL)), 2)",
                NOT_NULL,
            ),
            ("(s) VALUES (named_struct('a', 1, 'b', named_struct('c', 2)))", "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"),
        ),
    ),
    "generated": Feature(
        columns={
            "t": "TIMESTAMP",
            "day": "DATE GENERATED ALWAYS AS (CAST(t AS DATE))",
            "n": "INT",
            "twice": "INT GENERATED ALWAYS AS (N * 2)",
        },
        first=("TIMESTAMP'2024-01-01 10:00:00Z', DATE'2024-01-01', 1, 2", "NULL, NULL, NULL, NULL"),
        second=("TIMESTAMP'1500-06-01 23:00:00Z', DATE'1500-06-01', 3, 6",),
        given=("t", "n"),
        partition=("day",),
        as_select=False,
        violations=(
            ("(n, twice) VALUES (1, 3)", CONSTRAINT),
            ("(n, twice) VALUES (1, NULL)", CONSTRAINT),
            ("(t, day) VALUES (TIMESTAMP'2024-01-01 10:00:00Z', DATE'2024-01-02')", CONSTRAINT),
        ),
    ),
    "defaults": Feature(
        columns={
            "k": "INT",
            "s": "STRING DEFAULT concat('it', '''', 's')",
            "d": "DECIMAL(6, 2) DEFAULT 1",
            "st": "STRUCT<a: INT, b: STRING> DEFAULT named_struct('a', 1, 'b', 'x')",
            "t": "TIMESTAMP DEFAULT TIMESTAMP'2024-01-01 00:00:00Z'",
        },
        first=("1, 'it''s', 1.00, named_struct('a', 1, 'b', 'x'), TIMESTAMP'2024-01-01 00:00:00Z'",),
        second=("2, 'it''s', 1.00, named_struct('a', 1, 'b', 'x'), TIMESTAMP'2024-01-01 00:00:00Z'",),
        given=("k",),
        properties={"delta.feature.allowColumnDefaults": "supported"},
        as_select=False,
    ),
    "clustered": replace(plain(), clustered=("s", "p", "k")),
    "clustered and mapped": Feature(
        columns={"k": "INT", "`a b`": "STRUCT<`x.y`: DECIMAL(38, 18), z: ARRAY<INT>, t: TIMESTAMP>"},
        first=(
            "1, named_struct('x.y', CAST(1.5 AS DECIMAL(38, 18)), 'z', array(2), 't', TIMESTAMP'2024-01-01 00:00:00Z')",
            "2, NULL",
        ),
        second=("3, named_struct('x.y', NULL, 'z', NULL, 't', NULL)",),
        clustered=("`a b`.`x.y`", "`a b`.t", "K"),
        properties={"delta.columnMapping.mode": "name"},
    ),
    "append-only": replace(plain(delta__appendOnly="true"), replaces=False),
    "deletion vectors": plain(delta__enableDeletionVectors="true"),
    "change data feed": plain(delta__enableChangeDataFeed="true"),
    "row tracking": plain(delta__enableRowTracking="true"),
    "in-commit timestamps": plain(delta__enableInCommitTimestamps="true"),
    "v2 checkpoints": plain(delta__checkpointPolicy="v2", delta__checkpointInterval="2"),
    "type widening": plain(delta__enableTypeWidening="true"),
    "compressed otherwise": plain(delta__parquet__compression__codec="zstd"),
    "by boolean": of_type("BOOLEAN", "true", "false"),
    "by tinyint": of_type("TINYINT", "-128", "127"),
    "by smallint": of_type("SMALLINT", "-32768"),
    "by int": of_type("INT", "-2147483648", "0"),
    "by bigint": of_type("BIGINT", "9223372036854775807", "-9223372036854775807 - 1"),
    "by float": of_type("FLOAT", "1.5", "'NaN'", "'-Infinity'", "'-0.0'", "1.4E-45", "3.4028235E38"),
    "by double": of_type("DOUBLE", "1e10", "'NaN'", "'Infinity'", "'-0.0'", "0.1", "1.7976931348623157E308D"),
    "by decimal": of_type("DECIMAL(38, 18)", "-99999999999999999999.999999999999999999", "1E-18BD", "0"),
    "by string": of_type(
        "STRING",
        "' '",
        "'a/b'",
        "'a=b&c'",
        "'%20 %'",
        "'ü日\U0001f600'",
        "'null'",
        r"'a\\b''c\"'",
        r"'tab\tnew\nline'",
        "'.'",
        "'..'",
        "'#?[]{}*:'",
        "repeat('x', 100)",
    ),
    "by binary": of_type("BINARY", "'abc'", "'é/%'"),
    "by odd bytes and texts": Feature(
        columns={"k": "INT", "b": "BINARY", "s": "STRING NOT NULL", "t": "STRING"},
        first=("1, X'61', 'a', 'x'",),
        second=("2, NULL, 'b', 'y'",),
        partition=("b", "s", "t"),
        table_checks="CHECK (t <> 'z' AND t IS NOT NULL)",
        as_select=False,
        violations=(
            ("VALUES (1, X'FF', 'a', 'x', 2)", "MALFORMED_CHARACTER_CODING"),
            ("VALUES (1, X'61', '', 'x', 2)", NOT_NULL),
            ("VALUES (1, X'61', '__HIVE_DEFAULT_PARTITION__', 'x', 2)", NOT_NULL),
            ("VALUES (1, X'61', 'a', '', 2)", CONSTRAINT),
        ),
    ),
    "by date": of_type("DATE", "'0001-01-01'", "'9999-12-31'", "'1582-10-10'"),
    "by timestamp": of_type(
        "TIMESTAMP", "'0001-01-01 00:00:00Z'", "'2024-03-10 02:30:00.123456-05:00'", "'1500-01-01 00:00:00Z'"
    ),
    "by timestamp_ntz": of_type("TIMESTAMP_NTZ", "'0001-01-01 00:00:00'", "'2024-03-10 02:30:00.5'"),
}
