"""Tables made by the Iceberg runtime, and queries over them, with the same text in both engines.

`{t}` is the table. Queries are ordered. Steps that are lists are for `iceberg_spark.Maker`. After each step that
creates a snapshot there is a tag `s0`, `s1`, …, and all tags are read too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Step = str | list[object]
_ALL = "SELECT * FROM {t} ORDER BY id"
_ROWS = "SELECT id, concat('n', id), DATE'2024-01-01' + cast(id % 3 AS int) FROM range(30)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    columns: str = "id BIGINT, name STRING, day DATE"
    clauses: str = ""
    version: int = 2
    properties: dict[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...]
    reads: tuple[str, ...] = ()
    has_tags: bool = True

    def statements(self, table: str) -> list[Step]:
        properties = {"format-version": str(self.version), **self.properties}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        made: list[Step] = [
            f"CREATE TABLE {table} ({self.columns}) USING iceberg {self.clauses} TBLPROPERTIES ({listed})"
        ]
        for number, step in enumerate(self.steps):
            made.append(_filled(step, table))
            if self.has_tags and self.version > 1 and _makes_snapshot(step):
                made.append(f"ALTER TABLE {table} CREATE TAG s{number}")
        return made

    def queries(self, table: str) -> list[str]:
        tags = [f"s{number}" for number, step in enumerate(self.steps) if _makes_snapshot(step)]
        tags = tags if self.has_tags and self.version > 1 else []
        past = [f"SELECT * FROM {table} VERSION AS OF '{tag}' ORDER BY id" for tag in tags]
        return [str(_filled(read, table)) for read in (_ALL, *self.reads)] + past


def _makes_snapshot(step: Step) -> bool:
    words = step[0] if isinstance(step, list) else step.split()[0]
    return words in ("INSERT", "DELETE", "UPDATE", "MERGE", "delete_equal")


def _filled(step: Step, table: str) -> Step:
    if isinstance(step, list):
        return [each.replace("{t}", table) if isinstance(each, str) else each for each in step]
    return step.replace("{t}", table)


_MERGE_ON_READ = {f"write.{statement}.mode": "merge-on-read" for statement in ("delete", "update", "merge")}
_CHANGES: tuple[Step, ...] = (
    f"INSERT INTO {{t}} {_ROWS}",
    "DELETE FROM {t} WHERE id % 7 = 3",
    "UPDATE {t} SET name = 'changed' WHERE id IN (5, 6)",
    "INSERT INTO {t} VALUES (100, NULL, NULL), (101, 'é %+', DATE'2024-01-02'), (102, '', NULL)",
    "MERGE INTO {t} t USING (SELECT id, 'merged' AS name, DATE'2030-01-01' AS day FROM range(27, 33)) s "
    "ON t.id = s.id WHEN MATCHED AND s.id = 28 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
    "DELETE FROM {t} WHERE day = DATE'2024-01-02'",
)
_FILTERS = (
    "SELECT * FROM {t} WHERE day = DATE'2024-01-03' ORDER BY id",
    "SELECT * FROM {t} WHERE name >= 'n2' AND id < 25 ORDER BY id",
    "SELECT count(*) AS n FROM {t}",
    "SELECT * FROM {t} WHERE day IS NULL ORDER BY id",
)


def _changed(**more: object) -> Made:
    return Made(**{"steps": _CHANGES, "reads": _FILTERS, **more})  # type: ignore[arg-type]


_TYPES = (
    ("b", "BOOLEAN", "id % 2 = 0"),
    ("i", "INT", "cast(id * 1000 - 3000 AS int)"),
    ("l", "BIGINT", "id * 10000000000 - 30000000000"),
    ("f", "FLOAT", "cast(id / 3 - 1 AS float)"),
    ("d", "DOUBLE", "CASE id WHEN 4 THEN double('NaN') WHEN 5 THEN double('-Infinity') ELSE id / 7 - 1 END"),
    ("c", "DECIMAL(9,2)", "cast(id * 3.21 - 7 AS decimal(9,2))"),
    ("w", "DECIMAL(38,10)", "cast(id * 123456789012345.678 - 400000000000000 AS decimal(38,10))"),
    ("t", "STRING", "concat(repeat('ä😀', cast(id % 4 AS int)), id)"),
    ("x", "BINARY", "cast(concat('\\0x', id) AS binary)"),
    ("y", "DATE", "DATE'1969-12-20' + cast(id * 3 AS int)"),
    ("s", "TIMESTAMP", "TIMESTAMP'1969-12-31 20:30:00.123456' + make_dt_interval(0, cast(id AS int), 29)"),
    ("n", "TIMESTAMP_NTZ", "TIMESTAMP_NTZ'1969-11-30 22:30:00.5' + make_dt_interval(cast(id * 9 AS int), 1)"),
)


def _typed_columns(types: Sequence[tuple[str, str, str]]) -> str:
    return "id BIGINT, " + ", ".join(f"{name} {kind}" for name, kind, _ in types)


def _typed_steps(types: Sequence[tuple[str, str, str]]) -> tuple[Step, ...]:
    values = (f"CASE WHEN id <> {11 + number % 3} THEN {value} END" for number, (_, _, value) in enumerate(types))
    return f"INSERT INTO {{t}} SELECT id, {', '.join(values)} FROM range(14)", "DELETE FROM {t} WHERE id = 2"


_TYPED_READS = (
    "SELECT id FROM {t} WHERE s < TIMESTAMP'1969-12-31 23:00:00' ORDER BY id",
    "SELECT id FROM {t} WHERE s >= TIMESTAMP'1970-01-01 00:00:00' ORDER BY id",
    "SELECT id FROM {t} WHERE n <= TIMESTAMP_NTZ'1969-12-31 23:59:59' ORDER BY id",
    "SELECT id FROM {t} WHERE y = DATE'1969-12-29' OR y > DATE'1970-01-05' ORDER BY id",
    "SELECT id FROM {t} WHERE i BETWEEN -2500 AND 1000 ORDER BY id",
    "SELECT id FROM {t} WHERE l IN (-10000000000, 20000000000) ORDER BY id",
    "SELECT id FROM {t} WHERE c = -0.58 OR w > 100 ORDER BY id",
    "SELECT id FROM {t} WHERE t LIKE 'ä😀%' ORDER BY id",
    "SELECT id FROM {t} WHERE t = 'ä😀1' OR x = cast('\\0x4' AS binary) ORDER BY id",
    "SELECT id FROM {t} WHERE d < 0 ORDER BY id",
    "SELECT id FROM {t} WHERE isnan(d) OR f IS NULL ORDER BY id",
)


def _typed(clauses: str, **more: object) -> Made:
    return Made(
        **{  # type: ignore[arg-type]
            "columns": _typed_columns(_TYPES),
            "clauses": clauses,
            "steps": _typed_steps(_TYPES),
            "reads": _TYPED_READS,
            "properties": {"write.distribution-mode": "hash"},
            **more,
        }
    )


_NESTED = (
    "id BIGINT, s STRUCT<a: INT, b: STRING, c: STRUCT<d: INT>>, l ARRAY<STRUCT<e: INT, f: STRING>>, "
    "m MAP<STRING, STRUCT<g: FLOAT>>"
)
_EVOLVED: tuple[Step, ...] = (
    "INSERT INTO {t} SELECT id, named_struct('a', int(id), 'b', string(id), 'c', named_struct('d', int(-id))), "
    "array(named_struct('e', int(id), 'f', 'x')), map('k', named_struct('g', float(id))) FROM range(3)",
    "ALTER TABLE {t} ALTER COLUMN s.a TYPE BIGINT",
    "ALTER TABLE {t} RENAME COLUMN s.b TO h",
    "ALTER TABLE {t} ADD COLUMN s.b INT",
    "ALTER TABLE {t} ALTER COLUMN s.b FIRST",
    "ALTER TABLE {t} DROP COLUMN s.c.d",
    "ALTER TABLE {t} ADD COLUMN s.c.d STRING",
    "ALTER TABLE {t} ADD COLUMN l.element.n DOUBLE",
    "ALTER TABLE {t} RENAME COLUMN l.element.e TO f2",
    "ALTER TABLE {t} ALTER COLUMN m.value.g TYPE DOUBLE",
    "ALTER TABLE {t} ADD COLUMN m.value.o ARRAY<INT>",
    "INSERT INTO {t} SELECT id, named_struct('b', 7, 'a', 5000000000, 'h', 'new', 'c', named_struct('d', 'text')), "
    "array(named_struct('f2', 1, 'f', NULL, 'n', 0.5D), NULL), map('j', named_struct('g', 0.25D, 'o', array(1, NULL))) "
    "FROM range(10, 12)",
    "INSERT INTO {t} VALUES (20, NULL, NULL, NULL), "
    "(21, named_struct('b', NULL, 'a', NULL, 'h', NULL, 'c', NULL), array(), map())",
)
_REUSED: tuple[Step, ...] = (
    f"INSERT INTO {{t}} {_ROWS}",
    "ALTER TABLE {t} RENAME COLUMN name TO old",
    "ALTER TABLE {t} ADD COLUMN name INT",
    "INSERT INTO {t} VALUES (50, 'o', DATE'2025-01-01', 5)",
    "ALTER TABLE {t} DROP COLUMN day",
    "ALTER TABLE {t} ADD COLUMN day BIGINT AFTER id",
    "INSERT INTO {t} VALUES (60, 123, 'p', 6)",
    "ALTER TABLE {t} ALTER COLUMN name TYPE BIGINT",
    "ALTER TABLE {t} RENAME COLUMN old TO swap",
    "ALTER TABLE {t} RENAME COLUMN name TO old",
    "ALTER TABLE {t} RENAME COLUMN swap TO name",
    "INSERT INTO {t} VALUES (70, 321, 'q', 5000000000)",
    "ALTER TABLE {t} ALTER COLUMN old FIRST",
)
_SPECS: tuple[Step, ...] = (
    f"INSERT INTO {{t}} {_ROWS}",
    "ALTER TABLE {t} ADD PARTITION FIELD day",
    f"INSERT INTO {{t}} {_ROWS}",
    "ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id) AS b",
    "DELETE FROM {t} WHERE id IN (3, 4)",
    f"INSERT INTO {{t}} {_ROWS}",
    "ALTER TABLE {t} REPLACE PARTITION FIELD day WITH months(day) AS m",
    f"INSERT INTO {{t}} {_ROWS}",
    "ALTER TABLE {t} DROP PARTITION FIELD b",
    "ALTER TABLE {t} ADD PARTITION FIELD truncate(2, name)",
    "UPDATE {t} SET name = 'zz' WHERE id = 9",
    "DELETE FROM {t} WHERE day = DATE'2024-01-01'",
)
_NESTED_SOURCES: tuple[Step, ...] = (
    "INSERT INTO {t} SELECT id, CASE WHEN id % 5 <> 4 THEN named_struct('a', int(id % 3), 'at', "
    "TIMESTAMP'2024-01-01 20:00:00' + make_dt_interval(cast(id % 4 AS int)), 't', concat('é😀', id % 2)) END "
    "FROM range(12)",
    "DELETE FROM {t} WHERE s.a = 1 AND id > 4",
    "ALTER TABLE {t} RENAME COLUMN s.a TO z",
    "ALTER TABLE {t} ALTER COLUMN s.z TYPE BIGINT",
    "INSERT INTO {t} VALUES (100, named_struct('z', 5000000000L, 'at', NULL, 't', NULL))",
    "ALTER TABLE {t} RENAME COLUMN s TO q",
    "UPDATE {t} SET q.t = 'new' WHERE id = 2",
)
_PROMOTED: tuple[Step, ...] = (
    "INSERT INTO {t} SELECT id, int(id % 2), float(id % 3) / 3, cast(id % 2 * 1.25 AS decimal(5,2)), int(id), "
    "int(id * 7 - 20) FROM range(12)",
    *(
        f"ALTER TABLE {{t}} ALTER COLUMN {name} TYPE {kind}"
        for name, kind in (("i", "BIGINT"), ("f", "DOUBLE"), ("c", "DECIMAL(20,2)"), ("b", "BIGINT"), ("r", "BIGINT"))
    ),
    "INSERT INTO {t} SELECT 100 + id, 5000000000 + id, 0.1D, 123456789012.34BD, id + 5000000000, id + 5000000000 "
    "FROM range(3)",
    "INSERT INTO {t} SELECT 200 + id, id % 2, double(float(id % 3) / 3), id % 2 * 1.25BD, id, id * 7 FROM range(4)",
    "DELETE FROM {t} WHERE i = 1 AND id > 200",
)
_ODD_NAMES: tuple[Step, ...] = (
    "INSERT INTO {t} SELECT id, int(id), int(id * 2), int(id * 3), CASE id % 3 WHEN 0 THEN 'a/b=c %25 +é' WHEN 1 THEN "
    "'' ELSE '😀' END, 2, int(id % 2), DATE'2024-01-01' + int(id % 2) FROM range(8)",
    "DELETE FROM {t} WHERE `a.b` = 4",
    "INSERT INTO {t} SELECT 99, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
)
_EQUAL: dict[str, Any] = {"columns": "id BIGINT, k INT, name STRING, part INT"}
_EQUAL_ROWS = "INSERT INTO {t} SELECT id, cast(id % 5 AS int), concat('n', id % 3), cast(id % 2 AS int) FROM range(20)"
_EQUAL_STEPS: tuple[Step, ...] = (
    _EQUAL_ROWS,
    ["delete_equal", "{t}", "SELECT 3 AS k, 0 AS part UNION ALL SELECT 4, 1", ["k"]],
    "INSERT INTO {t} VALUES (30, 3, 'again', 0), (31, NULL, 'none', 0), (32, NULL, NULL, 1)",
    ["delete_equal", "{t}", "SELECT cast(NULL AS int) AS k, 'none' AS name, 0 AS part", ["k", "name"]],
    "INSERT INTO {t} VALUES (33, NULL, 'none', 0)",
    "DELETE FROM {t} WHERE id = 1",
    ["delete_equal", "{t}", "SELECT 2L AS id, 0 AS part", ["id"]],
)

_ORC = {"write.format.default": "orc", "write.delete.format.default": "parquet"}
_IN_ORC = tuple(each for each in _TYPES if each[1] != "TIMESTAMP_NTZ")


def _orc_typed(clauses: str) -> Made:
    reads = tuple(each for each in _TYPED_READS if "TIMESTAMP_NTZ" not in each)
    columns, steps = _typed_columns(_IN_ORC), _typed_steps(_IN_ORC)
    return Made(columns=columns, clauses=clauses, steps=steps, reads=reads, properties=_ORC)


TABLES: dict[str, Made] = {
    "avro": _changed(properties={"write.format.default": "avro"}, clauses="PARTITIONED BY (day)"),
    "deleted_in_orc": _changed(properties={**_MERGE_ON_READ, "write.delete.format.default": "orc"}, has_tags=False),
    "deleted_in_avro": _changed(properties={**_MERGE_ON_READ, "write.delete.format.default": "avro"}, has_tags=False),
    "nested_sources": Made(
        columns="id BIGINT, s STRUCT<a: INT, at: TIMESTAMP, t: STRING>",
        clauses="PARTITIONED BY (s.a, days(s.at), bucket(4, s.t), truncate(1, s.t))",
        properties={"write.distribution-mode": "hash", **_MERGE_ON_READ},
        steps=_NESTED_SOURCES,
        reads=(
            "SELECT id FROM {t} WHERE q.z = 2 OR q.z > 4000000000 ORDER BY id",
            "SELECT id FROM {t} WHERE q.at >= TIMESTAMP'2024-01-02 00:00:00' ORDER BY id",
            "SELECT id FROM {t} WHERE q.t = 'é😀1' ORDER BY id",
            "SELECT id FROM {t} WHERE q.t IS NULL ORDER BY id",
        ),
        has_tags=False,
    ),
    "promoted_partitions": Made(
        columns="id BIGINT, i INT, f FLOAT, c DECIMAL(5,2), b INT, r INT",
        clauses="PARTITIONED BY (i, f, c, bucket(4, b), truncate(10, r))",
        properties={"write.distribution-mode": "hash"},
        steps=_PROMOTED,
        reads=(
            "SELECT id FROM {t} WHERE i = 1 OR i >= 5000000001 ORDER BY id",
            "SELECT id FROM {t} WHERE f = double(float(1) / 3) OR f = 0.1D ORDER BY id",
            "SELECT id FROM {t} WHERE c = 1.25 OR c > 100 ORDER BY id",
            "SELECT id FROM {t} WHERE b = 3 ORDER BY id",
            "SELECT id FROM {t} WHERE r BETWEEN -10 AND 5 ORDER BY id",
        ),
        has_tags=False,
    ),
    "odd_names": Made(
        columns="id BIGINT, `a b` INT, `a.b` INT, `a``b` INT, `é😀` STRING, `"
        + 200 * "x"
        + "` INT, `1` INT, `A%/=?#` DATE",
        clauses="PARTITIONED BY (`A%/=?#`, `é😀`, `1`)",
        properties={"write.distribution-mode": "hash"},
        steps=_ODD_NAMES,
        reads=(
            "SELECT id FROM {t} WHERE `é😀` = '' OR `é😀` LIKE 'a/b=c \\%25%' ORDER BY id",
            "SELECT id FROM {t} WHERE `1` IS NULL OR `a``b` > 15 ORDER BY id",
        ),
        has_tags=False,
    ),
    "orc": _changed(properties=_ORC, clauses="PARTITIONED BY (day)"),
    "orc_types": _orc_typed(""),
    "orc_by_value": _orc_typed("PARTITIONED BY (s, c, y)"),
    "orc_by_value_more": _orc_typed("PARTITIONED BY (t, x, w)"),
    "orc_nested": Made(columns=_NESTED, steps=_EVOLVED, properties=_ORC),
    "orc_reused_names": Made(
        steps=_REUSED, reads=("SELECT * FROM {t} WHERE name = 'n7' OR old = 5 ORDER BY id",), properties=_ORC
    ),
    "orc_specs": _changed(steps=_SPECS, reads=_FILTERS[:-1], properties=_ORC),
    "orc_and_parquet": _changed(
        steps=(
            f"INSERT INTO {{t}} {_ROWS}",
            "ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default' = 'orc')",
            *_CHANGES,
        )
    ),
    "orc_equal": Made(**_EQUAL, steps=_EQUAL_STEPS, properties=_ORC),
    "plain_v1": _changed(version=1, clauses="PARTITIONED BY (day)"),
    "plain_v2": _changed(clauses="PARTITIONED BY (bucket(3, id))"),
    "plain_v3": _changed(version=3),
    "positions_by_partition": _changed(
        clauses="PARTITIONED BY (day)", properties={**_MERGE_ON_READ, "write.delete.granularity": "partition"}
    ),
    "positions_by_file": _changed(
        clauses="PARTITIONED BY (truncate(2, name))", properties={**_MERGE_ON_READ, "write.delete.granularity": "file"}
    ),
    "vectors": _changed(version=3, clauses="PARTITIONED BY (day)", properties=_MERGE_ON_READ),
    "vectors_over_positions": _changed(
        properties=_MERGE_ON_READ,
        steps=(
            *_CHANGES,
            "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
            "DELETE FROM {t} WHERE id IN (7, 8, 101)",
            "UPDATE {t} SET name = 'late' WHERE id > 20",
        ),
    ),
    "upgraded": _changed(
        version=1,
        clauses="PARTITIONED BY (day)",
        steps=(
            *_CHANGES,
            "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '2')",
            f"INSERT INTO {{t}} {_ROWS}",
            "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
            "UPDATE {t} SET name = 'late' WHERE id > 20",
        ),
    ),
    "compressed": _changed(
        clauses="PARTITIONED BY (day)",
        properties={
            "write.metadata.compression-codec": "gzip",
            "write.avro.compression-codec": "zstd",
            "write.parquet.compression-codec": "snappy",
            "write.object-storage.enabled": "true",
        },
    ),
    "rewritten": _changed(
        clauses="PARTITIONED BY (day)",
        properties=_MERGE_ON_READ,
        steps=(
            *_CHANGES,
            "CALL c.system.rewrite_position_delete_files('{t}')",
            "CALL c.system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
            "CALL c.system.rewrite_manifests('{t}')",
            "DELETE FROM {t} WHERE id = 12",
            "CALL c.system.expire_snapshots(table => '{t}', older_than => TIMESTAMP'2100-01-01', retain_last => 1)",
        ),
        has_tags=False,
    ),
    "sorted": _changed(
        clauses="PARTITIONED BY (day)",
        steps=("ALTER TABLE {t} WRITE ORDERED BY name DESC NULLS FIRST, bucket(4, id)", *_CHANGES),
    ),
    "branches": _changed(
        steps=(
            f"INSERT INTO {{t}} {_ROWS}",
            "ALTER TABLE {t} CREATE BRANCH audit",
            "INSERT INTO {t}.branch_audit VALUES (200, 'audit', NULL)",
            "DELETE FROM {t}.branch_audit WHERE id < 10",
            "ALTER TABLE {t} ADD COLUMN more INT",
            "INSERT INTO {t} VALUES (300, 'main', NULL, 1)",
        ),
        reads=(
            "SELECT * FROM {t} VERSION AS OF 'audit' ORDER BY id",
            "SELECT name, type, min_snapshots_to_keep FROM {t}.refs ORDER BY name",
            "SELECT operation, count(*) AS n FROM {t}.snapshots GROUP BY operation ORDER BY 1",
        ),
    ),
    "types": _typed(""),
    "types_v3": _typed("", version=3, properties=_MERGE_ON_READ),
    "by_hour": _typed("PARTITIONED BY (hours(s))"),
    "by_hour_ntz": _typed("PARTITIONED BY (hours(n))"),
    "by_day": _typed("PARTITIONED BY (days(s), days(n), y)", properties={"write.distribution-mode": "hash"}),
    "by_month": _typed("PARTITIONED BY (months(s), months(y))"),
    "by_year": _typed("PARTITIONED BY (years(n), years(y), b)"),
    "by_truncated": _typed("PARTITIONED BY (truncate(1000, i), truncate(50, c))"),
    "by_truncated_texts": _typed("PARTITIONED BY (truncate(2, t), truncate(2, x))"),
    "by_bucket": _typed("PARTITIONED BY (bucket(2, i), bucket(2, l), bucket(2, t))"),
    "by_bucket_more": _typed("PARTITIONED BY (bucket(2, c), bucket(2, y), bucket(2, s), bucket(2, x))"),
    "by_value": _typed("PARTITIONED BY (s, n, c)"),
    "by_value_more": _typed("PARTITIONED BY (t, x, w)"),
    "by_float": _typed("PARTITIONED BY (f, d)"),
    "nested": Made(columns=_NESTED, steps=_EVOLVED),
    "nested_v3": Made(columns=_NESTED, steps=_EVOLVED, version=3),
    "reused_names": Made(steps=_REUSED, reads=("SELECT * FROM {t} WHERE name = 'n7' OR old = 5 ORDER BY id",)),
    "specs": _changed(steps=_SPECS, reads=_FILTERS[:-1]),
    "specs_by_marks": _changed(steps=_SPECS, reads=_FILTERS[:-1], properties=_MERGE_ON_READ),
    "specs_by_vectors": _changed(steps=_SPECS, reads=_FILTERS[:-1], properties=_MERGE_ON_READ, version=3),
    "equal": Made(**_EQUAL, steps=_EQUAL_STEPS, properties=_MERGE_ON_READ),
    "equal_by_part": Made(**_EQUAL, steps=_EQUAL_STEPS, clauses="PARTITIONED BY (part)", properties=_MERGE_ON_READ),
    "equal_v3": Made(
        **_EQUAL, steps=_EQUAL_STEPS, clauses="PARTITIONED BY (bucket(2, part))", properties=_MERGE_ON_READ, version=3
    ),
    "equal_everywhere": Made(
        **_EQUAL,
        steps=(
            _EQUAL_ROWS,
            "ALTER TABLE {t} ADD PARTITION FIELD part",
            _EQUAL_ROWS,
            ["delete_equal", "{t}", "SELECT 3 AS k", ["k"], True],
            ["delete_equal", "{t}", "SELECT 2L AS id, 0 AS part", ["id"]],
            "INSERT INTO {t} VALUES (30, 3, 'again', 0)",
            "ALTER TABLE {t} DROP COLUMN k",
        ),
        properties=_MERGE_ON_READ,
    ),
    "defaults": Made(
        version=3,
        steps=(
            f"INSERT INTO {{t}} {_ROWS}",
            ["add_column", "{t}", None, "i", "int", "34"],
            ["add_column", "{t}", None, "w", "string", '"a \'b"'],
            ["add_column", "{t}", None, "c", "decimal(9,2)", '"14.20"'],
            ["add_column", "{t}", None, "y", "date", '"2017-11-16"'],
            ["add_column", "{t}", None, "s", "timestamptz", '"2017-11-16T22:31:08.000001+00:00"'],
            ["add_column", "{t}", None, "x", "binary", '"00FF10"'],
            ["add_column", "{t}", None, "b", "boolean", "true"],
            "INSERT INTO {t} (id) VALUES (40)",
            "INSERT INTO {t} VALUES (41, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
            ["set_column_default", "{t}", "i", "int", "35"],
            "INSERT INTO {t} (id, name) VALUES (42, 'x')",
            "ALTER TABLE {t} ALTER COLUMN i TYPE BIGINT",
        ),
        reads=("SELECT id FROM {t} WHERE i = 34 ORDER BY id", "SELECT count(*) AS n FROM {t} WHERE w IS NULL"),
    ),
}
