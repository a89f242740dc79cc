"""INSERT in its forms."""

from __future__ import annotations

from tests.oracle.compared.case import Case, files_of, made, one_task

_COLUMNS = "k INT, s STRING, p INT"
_FILES = files_of(
    one_task("(1, 'a', 0), (2, NULL, 0), (3, 'c', 0)"),
    one_task("(11, 'a', 1), (12, NULL, 1), (13, 'c', NULL)"),
)
_PARTED = "PARTITIONED BY (p)"
_NEW = one_task("(5, 'new', 1), (12, 'x', 1)")
_LOW, _HIGH = one_task("(0, 'z', 0)"), one_task("(7, 'z', 0)")
_OTHERS = one_task("(6, 'dyn', 1), (7, 'dyn', 9)")
_DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic"
_STATIC = "SET spark.sql.sources.partitionOverwriteMode = static"
_REPLACE = (
    f"INSERT INTO {{t}} REPLACE WHERE p = 1 {_NEW}",
    f"INSERT INTO {{t}} REPLACE WHERE k < 3 {_LOW}",
    f"INSERT INTO {{t}} REPLACE WHERE k < 3 {_HIGH}",
)
_OVERWRITE = (
    f"INSERT OVERWRITE {{t}} {_NEW}",
    f"INSERT OVERWRITE {{t}} (k) {one_task('(5)')}",
    f"INSERT OVERWRITE {{t}} {_NEW} WHERE false",
)
_PARTITIONS = (
    "INSERT OVERWRITE {t} PARTITION (p = 1) SELECT 5, 'static'",
    f"INSERT OVERWRITE {{t}} PARTITION (p) {_NEW}",
    _DYNAMIC,
    f"INSERT OVERWRITE {{t}} {_OTHERS}",
    "INSERT OVERWRITE {t} PARTITION (p = 9) SELECT 8, 'static'",
    _STATIC,
)
_APPEND = (
    f"INSERT INTO {{t}} {_NEW}",
    "INSERT INTO {t} (p, k) SELECT 4, 5",
    "INSERT INTO {t} BY NAME SELECT 'by name' AS s, 5 AS k",
    "INSERT INTO {t} SELECT * FROM {t} WHERE k = 5 AND s = 'by name'",
    "INSERT INTO {t} SELECT 1, 'x', 2 WHERE false",
    "INSERT INTO {t} VALUES (1, 'x')",
    "INSERT INTO {t} VALUES ('x', 'x', 1)",
)

INSERT_CASES: dict[str, Case] = {
    "append": made(_COLUMNS, *_FILES, *_APPEND),
    "append, partitioned": made(
        _COLUMNS, *_FILES, *_APPEND, "INSERT INTO {t} PARTITION (p = 5) SELECT 1, 'x'", clauses=_PARTED
    ),
    "overwrite": made(_COLUMNS, *_FILES, *_OVERWRITE),
    "overwrite, feed": made(_COLUMNS, *_FILES, *_OVERWRITE, enableChangeDataFeed="true"),
    "overwrite, tracked": made(_COLUMNS, *_FILES, *_OVERWRITE, enableRowTracking="true"),
    "partitions": made(_COLUMNS, *_FILES, *_PARTITIONS, clauses=_PARTED),
    "replace": made(_COLUMNS, *_FILES, *_REPLACE),
    "replace, partitioned": made(_COLUMNS, *_FILES, *_REPLACE, clauses=_PARTED),
    "replace, feed": made(_COLUMNS, *_FILES, *_REPLACE, clauses=_PARTED, enableChangeDataFeed="true"),
    "replace, vectors": made(_COLUMNS, *_FILES, *_REPLACE, enableDeletionVectors="true"),
    "nothing": made(
        _COLUMNS,
        f"INSERT OVERWRITE {{t}} {_NEW} WHERE false",
        f"INSERT INTO {{t}} REPLACE WHERE k = 1 {_NEW} WHERE false",
        "DELETE FROM {t}",
        "TRUNCATE TABLE {t}",
    ),
    "truncate": made(_COLUMNS, *_FILES, "TRUNCATE TABLE {t}"),
    "create as": Case(
        steps=(
            "CREATE TABLE {t} AS SELECT 1 AS k, 'x' AS s",
            "CREATE OR REPLACE TABLE {t} PARTITIONED BY (k) AS SELECT 2 AS k, 'y' AS s",
            "REPLACE TABLE {t} AS SELECT 3 AS k",
        )
    ),
}
