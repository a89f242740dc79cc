"""DELETE, in files and in deletion vectors."""

from __future__ import annotations

from tests.oracle.compared.case import Case, files_of, made, one_task

_COLUMNS = "k INT, s STRING, p INT"
_FILES = files_of(
    one_task("(1, 'a', 0), (2, NULL, 0), (3, 'c', 0), (4, 'd', 0)"),
    one_task("(11, 'a', 1), (12, NULL, 1), (13, 'c', 1), (14, 'd', 1)"),
    one_task("(21, 'a', 2), (22, NULL, NULL), (23, 'c', 2), (24, 'd', NULL)"),
)
_DELETES = (
    "DELETE FROM {t} WHERE k = 2",
    "DELETE FROM {t} WHERE k IN (3, 12)",
    "DELETE FROM {t} WHERE s IS NULL",
    "DELETE FROM {t} WHERE k = 1000",
    "DELETE FROM {t} WHERE k BETWEEN 10 AND 20",
    "DELETE FROM {t} AS x WHERE x.p = 2 AND x.s = 'a'",
    "DELETE FROM {t} WHERE p = 0",
    "DELETE FROM {t} WHERE p IS NULL",
    "DELETE FROM {t}",
    "DELETE FROM {t}",
)
_PARTED = "PARTITIONED BY (p)"
_VECTORS = {"enableDeletionVectors": "true"}
_FEED = {"enableChangeDataFeed": "true"}
_TRACKED = {"enableRowTracking": "true"}
_MAPPED = {"columnMapping__mode": "name"}

DELETE_CASES: dict[str, Case] = {
    "plain": made(_COLUMNS, *_FILES, *_DELETES),
    "partitioned": made(_COLUMNS, *_FILES, *_DELETES, clauses=_PARTED),
    "feed": made(_COLUMNS, *_FILES, *_DELETES, **_FEED),
    "feed, partitioned": made(_COLUMNS, *_FILES, *_DELETES, clauses=_PARTED, **_FEED),
    "vectors": made(_COLUMNS, *_FILES, *_DELETES, **_VECTORS),
    "vectors, partitioned": made(_COLUMNS, *_FILES, *_DELETES, clauses=_PARTED, **_VECTORS),
    "vectors, feed": made(_COLUMNS, *_FILES, *_DELETES, **_VECTORS, **_FEED),
    "vectors, feed, tracked, mapped": made(
        _COLUMNS, *_FILES, *_DELETES, clauses=_PARTED, **_VECTORS, **_FEED, **_TRACKED, **_MAPPED
    ),
    "tracked": made(_COLUMNS, *_FILES, *_DELETES, **_TRACKED),
    "append-only": made(_COLUMNS, *_FILES, *_DELETES[:1], appendOnly="true"),
}
