"""Tables made by delta-spark: the statements for each, and queries over it.

`{t}` is the table, `{root}` the folder with all tables. A query has the same text in both engines, and is ordered.
"""

from __future__ import annotations

from dataclasses import dataclass

_COLUMNS = "id BIGINT, name STRING, day DATE"
_ROWS = "SELECT id, concat('n', id), DATE'2024-01-01' + cast(id % 3 AS int) FROM range(30)"
_MORE = "VALUES (100, NULL, NULL), (101, 'é %+', DATE'2024-01-02')"
_ALL = "SELECT * FROM {t} ORDER BY id"
_IDS = (
    "SELECT id, _metadata.row_id, _metadata.row_commit_version, _metadata.base_row_id, "
    "_metadata.default_row_commit_version, _metadata.row_index, _metadata.file_name, _metadata.file_size, "
    "_metadata.file_modification_time FROM {t} ORDER BY id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    columns: str = _COLUMNS
    clauses: str = ""
    # Without the parentheses.
    properties: str = ""
    steps: tuple[str, ...] = (
        f"INSERT INTO {{t}} {_ROWS}",
        f"INSERT INTO {{t}} {_MORE}",
        "DELETE FROM {t} WHERE id % 7 = 3",
        "UPDATE {t} SET name = 'changed' WHERE id = 5",
        "MERGE INTO {t} USING (SELECT id, 'merged' AS name, DATE'2030-01-01' AS day FROM range(27, 33)) s "
        "ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    reads: tuple[str, ...] = (_ALL, "SELECT * FROM {t} VERSION AS OF 1 ORDER BY id")

    def statements(self, name: str, root: str) -> list[str]:
        table = f"delta.`{root}/{name}`"
        properties = f"TBLPROPERTIES ({self.properties})" if self.properties else ""
        create = f"CREATE TABLE {table} ({self.columns}) USING delta {self.clauses} {properties}"
        return [create, *(_filled(step, table, root) for step in self.steps)]

    def queries(self, name: str, root: str) -> list[str]:
        return [_filled(read, f"delta.`{root}/{name}`", root) for read in self.reads]


def _filled(text: str, table: str, root: str) -> str:
    return text.replace("{t}", table).replace("{root}", root)


_PLAIN = Made()
# Column, its first type, the types that it changes to, and a value in the first.
_WIDENING = (
    ("b_short", "TINYINT", ("SMALLINT",), "-7"),
    ("b_long", "TINYINT", ("INT", "BIGINT"), "-8"),
    ("b_double", "TINYINT", ("DOUBLE",), "-9"),
    ("b_decimal", "TINYINT", ("DECIMAL(12,2)",), "-10"),
    ("s_int", "SMALLINT", ("INT",), "-300"),
    ("s_double", "SMALLINT", ("DOUBLE",), "-301"),
    ("s_decimal", "SMALLINT", ("DECIMAL(11,1)",), "-302"),
    ("i_long", "INT", ("BIGINT",), "-70000"),
    ("i_double", "INT", ("DOUBLE",), "-70001"),
    ("i_decimal", "INT", ("DECIMAL(10,0)", "DECIMAL(20,5)"), "-70002"),
    ("l_decimal", "BIGINT", ("DECIMAL(20,0)", "DECIMAL(38,10)"), "-5000000000"),
    ("f_double", "FLOAT", ("DOUBLE",), "0.1"),
    ("d_decimal", "DECIMAL(5,2)", ("DECIMAL(7,2)", "DECIMAL(12,4)"), "-123.45"),
    ("d_wide", "DECIMAL(18,3)", ("DECIMAL(38,3)",), "123456789012345.678"),
    ("day_ntz", "DATE", ("TIMESTAMP_NTZ",), "DATE'1890-02-03'"),
)

_WIDENED = Made(
    columns="id INT, s STRUCT<a: INT, m: MAP<SMALLINT, FLOAT>>, l ARRAY<TINYINT>, "
    + ", ".join(f"{name} {first}" for name, first, *_ in _WIDENING),
    properties="'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported'",
    steps=(
        "INSERT INTO {t} SELECT 1, named_struct('a', 7, 'm', map(1S, 0.1F)), array(1Y, NULL), "
        + ", ".join(value for *_, value in _WIDENING),
        *(f"ALTER TABLE {{t}} ALTER COLUMN {name} TYPE {step}" for name, _, steps, _ in _WIDENING for step in steps),
        "ALTER TABLE {t} ALTER COLUMN s.a TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN s.m.key TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN s.m.value TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN l.element TYPE INT",
        "INSERT INTO {t} SELECT 2, named_struct('a', 5000000000, 'm', map(70000, 0.2D)), array(70000), "
        + ", ".join(
            "TIMESTAMP_NTZ'2024-05-06 07:08:09.123456'" if name == "day_ntz" else f"CAST(12.5 AS {steps[-1]})"
            for name, _, steps, _ in _WIDENING
        ),
    ),
)

_TYPES = (
    "id BIGINT, b BOOLEAN, y TINYINT, s SMALLINT, i INT, f FLOAT, d DOUBLE, c DECIMAL(38,18), e DECIMAL(9,2), "
    "t STRING, x BINARY, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, ch CHAR(5), vc VARCHAR(5), "
    "l ARRAY<STRUCT<a: INT, b: ARRAY<STRING>>>, m MAP<STRING, STRUCT<a: DATE, b: MAP<INT, TIMESTAMP>>>"
)
_TYPED = Made(
    columns=_TYPES,
    properties="'delta.feature.timestampNtz' = 'supported'",
    steps=(
        "INSERT INTO {t} VALUES (1, true, -128Y, -32768S, -2147483648, float('NaN'), double('-Infinity'), "
        "12345678901234567890.123456789012345678, -1234567.89, '', X'', DATE'0001-01-01', "
        "TIMESTAMP'1582-10-15 00:00:00.000001', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', 'ab', 'ab', "
        "array(named_struct('a', 1, 'b', array('x', NULL)), NULL), "
        "map('k', named_struct('a', DATE'2024-02-29', 'b', map(1, TIMESTAMP'1969-12-31 23:59:59.999999'))))",
        "INSERT INTO {t} (id) VALUES (2)",
        "INSERT INTO {t} VALUES (3, false, 127Y, 32767S, 2147483647, -0.0F, 4.9E-324D, -0.000000000000000001, 0.01, "
        "'\\u0000é😀', X'00FF', DATE'9999-12-31', TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00', "
        "'abcde', 'é😀', array(), map())",
    ),
    reads=(_ALL, "SELECT id, length(ch), ch = 'ab', length(vc) FROM {t} ORDER BY id"),
)

_PARTS = "b BOOLEAN, i INT, d DOUBLE, c DECIMAL(10,3), t STRING, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ"
_PARTED = Made(
    columns=f"id INT, {_PARTS}",
    clauses="PARTITIONED BY (b, i, d, c, t, day, ts, ntz)",
    properties="'delta.feature.timestampNtz' = 'supported'",
    steps=(
        "INSERT INTO {t} VALUES "
        "(1, true, -1, double('NaN'), 1.500, 'a b/ü=%20+:#?', DATE'0001-01-01', TIMESTAMP'2024-03-31 01:30:00.123456', "
        "TIMESTAMP_NTZ'1582-10-10 00:00:00'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
        "(3, false, 2147483647, double('Infinity'), -0.001, '__HIVE_DEFAULT_PARTITION__x', DATE'9999-12-31', "
        "TIMESTAMP'1969-12-31 23:59:59', TIMESTAMP_NTZ'2024-01-01 00:00:00.5')",
        "DELETE FROM {t} WHERE t LIKE 'a b%' AND id = 99",
    ),
    reads=(
        _ALL,
        "SELECT id FROM {t} WHERE ts < TIMESTAMP'2000-01-01' ORDER BY id",
        "SELECT id FROM {t} WHERE t = 'a b/ü=%20+:#?' AND ntz < TIMESTAMP_NTZ'1900-01-01 00:00:00' ORDER BY id",
    ),
)


def _mapped(mode: str, more: str = "") -> Made:
    """Returns steps that rename, drop and add columns, at the top and nested, with remaining files from each step."""
    return Made(
        columns="id INT, name STRING, s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT, y: INT>>, "
        "p STRING",
        clauses="PARTITIONED BY (p)",
        properties=f"'delta.columnMapping.mode' = '{mode}'{more}",
        steps=(
            "INSERT INTO {t} SELECT id, concat('n', id), named_struct('a', id, 'b', named_struct('c', 'deep')), "
            "array(named_struct('x', 1, 'y', 2)), concat('p ', id % 2) FROM (SELECT cast(id AS int) id FROM range(10))",
            "ALTER TABLE {t} RENAME COLUMN name TO `full name, please`",
            "ALTER TABLE {t} RENAME COLUMN s.b.c TO d",
            "ALTER TABLE {t} RENAME COLUMN p TO part",
            "ALTER TABLE {t} DROP COLUMN l.element.x",
            "ALTER TABLE {t} ADD COLUMNS (name DOUBLE, s.b.c INT, l.element.x STRING)",
            "INSERT INTO {t} SELECT 100, 'new', named_struct('a', 1, 'b', named_struct('d', 'dd', 'c', 5)), "
            "array(named_struct('y', 3, 'x', 'xx')), 'p 3', 1.5",
            "DELETE FROM {t} WHERE id % 4 = 2",
            "UPDATE {t} SET s.b.c = 77 WHERE id IN (3, 100)",
        ),
        reads=(
            _ALL,
            "SELECT id, s.b.d, l[0].y FROM {t} WHERE part = 'p 1' AND s.a > 2 ORDER BY id",
            "SELECT * FROM {t} VERSION AS OF 1 ORDER BY id",
        ),
    )


_TRACKED = "'delta.enableRowTracking' = 'true'"
_VECTORS = "'delta.enableDeletionVectors' = 'true'"
_COMPACTED = (*_PLAIN.steps, "OPTIMIZE {t}", "DELETE FROM {t} WHERE id = 9", "UPDATE {t} SET name = 'x' WHERE id < 2")

TABLES = {
    "plain": _PLAIN,
    "parted": Made(clauses="PARTITIONED BY (day)"),
    "partitions_of_all_types": _PARTED,
    "types": _TYPED,
    "mapped_by_name": _mapped("name"),
    "mapped_by_id": _mapped("id"),
    "mapped_with_vectors": _mapped("name", f", {_VECTORS}"),
    "mapped_by_id_with_vectors": _mapped("id", f", {_VECTORS}, {_TRACKED}"),
    "vectors": Made(properties=_VECTORS, clauses="PARTITIONED BY (day)", steps=_COMPACTED),
    "clone_of_vectors": Made(steps=(), reads=(_ALL,)),
    "tracked": Made(properties=_TRACKED, steps=_COMPACTED, reads=(_ALL, _IDS)),
    "tracked_with_vectors": Made(
        properties=f"{_TRACKED}, {_VECTORS}, 'delta.columnMapping.mode' = 'name'",
        clauses="PARTITIONED BY (day)",
        steps=_COMPACTED,
        reads=(_ALL, _IDS, "SELECT id, _metadata.row_id FROM {t} VERSION AS OF 4 ORDER BY id"),
    ),
    "tracked_later": Made(
        steps=(*_PLAIN.steps[:2], f"ALTER TABLE {{t}} SET TBLPROPERTIES ({_TRACKED})", *_PLAIN.steps[2:]),
        reads=(_ALL, _IDS),
    ),
    "clustered": Made(clauses="CLUSTER BY (id, day)", steps=_COMPACTED),
    "v2_checkpoints": Made(
        properties=f"'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2', {_VECTORS}", steps=_COMPACTED
    ),
    "v2_checkpoints_in_json": Made(
        properties="'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2'",
        steps=("SET spark.databricks.delta.checkpointV2.topLevelFileFormat = json", *_COMPACTED),
    ),
    "classic_checkpoints": Made(
        properties="'delta.checkpointInterval' = '2', 'delta.checkpoint.writeStatsAsJson' = 'false'", steps=_COMPACTED
    ),
    "variants": Made(
        columns="id BIGINT, v VARIANT, l ARRAY<VARIANT>, s STRUCT<v: VARIANT>",
        steps=(
            "INSERT INTO {t} SELECT id, "
            """parse_json(concat('{"a": ', id, ', "b": [1.5, null, "x"], "c": {"d": true}}')), """
            "array(parse_json('1'), NULL), named_struct('v', parse_json('null')) FROM range(5)",
            "INSERT INTO {t} (id) VALUES (10)",
            "DELETE FROM {t} WHERE id = 3",
        ),
        reads=(
            _ALL,
            "SELECT id, v:a::int AS a, v:b[0]::double AS b, variant_get(v, '$.c.d', 'boolean') AS d FROM {t} "
            "WHERE v:a::int > 1 ORDER BY id",
        ),
    ),
    "shredded_variants": Made(
        columns="id BIGINT, v VARIANT",
        properties="'delta.enableVariantShredding' = 'true'",
        steps=(
            """INSERT INTO {t} SELECT id, parse_json(concat('{"a": ', id, ', "b": "x', id, '"}')) FROM range(50)""",
            """INSERT INTO {t} VALUES (100, parse_json('{"a": "other"}')), (101, parse_json('[1]')), (102, NULL)""",
        ),
        reads=(_ALL, "SELECT id, try_variant_get(v, '$.a', 'int') AS a, v:b::string AS b FROM {t} ORDER BY id"),
    ),
    "generated": Made(
        columns="id BIGINT, ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
        "twice BIGINT GENERATED ALWAYS AS (id * 2)",
        clauses="PARTITIONED BY (day)",
        steps=(
            "INSERT INTO {t} (id, ts) "
            "SELECT id, TIMESTAMP'2024-01-01 12:00:00' + make_interval(0, 0, 0, 0, id) FROM range(48)",
            "UPDATE {t} SET id = -1 WHERE id = 3",
        ),
        reads=(_ALL, "SELECT id FROM {t} WHERE ts >= TIMESTAMP'2024-01-03 01:00:00' ORDER BY id"),
    ),
    "identity": Made(
        columns="id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY -3), "
        "other BIGINT GENERATED BY DEFAULT AS IDENTITY, name STRING",
        steps=(
            "INSERT INTO {t} (name) SELECT concat('n', id) FROM range(5)",
            "INSERT INTO {t} (other, name) VALUES (1000, 'given')",
            "INSERT INTO {t} (name) VALUES ('last')",
        ),
        reads=(_ALL,),
    ),
    "defaults": Made(
        columns="id BIGINT, name STRING DEFAULT 'none', n INT",
        properties="'delta.feature.allowColumnDefaults' = 'supported'",
        steps=(
            "INSERT INTO {t} (id) VALUES (1)",
            "ALTER TABLE {t} ADD COLUMNS (later STRING)",
            "ALTER TABLE {t} ALTER COLUMN later SET DEFAULT 'l'",
            "INSERT INTO {t} (id, name) VALUES (2, DEFAULT)",
        ),
    ),
    "checked": Made(steps=(*_PLAIN.steps[:2], "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)", *_PLAIN.steps[2:])),
    "stamped": Made(properties="'delta.enableInCommitTimestamps' = 'true'"),
    "widened": _WIDENED,
    "feed": Made(
        properties="'delta.enableChangeDataFeed' = 'true'",
        reads=(
            _ALL,
            "SELECT * EXCEPT (_commit_timestamp) FROM table_changes_by_path('{root}/feed', 0) "
            "ORDER BY _commit_version, id, _change_type",
        ),
    ),
    "feed_of_vectors": Made(
        properties=f"'delta.enableChangeDataFeed' = 'true', {_VECTORS}, {_TRACKED}",
        reads=(
            _ALL,
            "SELECT * EXCEPT (_commit_timestamp) FROM table_changes_by_path('{root}/feed_of_vectors', 1, 4) "
            "ORDER BY _commit_version, id, _change_type",
        ),
    ),
    "restored": Made(steps=(*_PLAIN.steps, "RESTORE TABLE {t} TO VERSION AS OF 2", "DELETE FROM {t} WHERE id = 20")),
}

CLONE = "CREATE TABLE delta.`{root}/clone_of_vectors` SHALLOW CLONE delta.`{root}/vectors` VERSION AS OF 5"


def making(root: str) -> list[str]:
    """Returns all statements, in their order."""
    statements = []
    for name, table in TABLES.items():
        statements += [CLONE.replace("{root}", root)] if name == "clone_of_vectors" else table.statements(name, root)
    return statements
