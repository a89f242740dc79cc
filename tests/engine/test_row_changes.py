"""UPDATE, MERGE and DELETE in sequence, compared with a plain model, in tables with many layouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, rows, run, version_of
from tests.engine.peer_readers import PEERS
from tests.samples import some

pytestmark = pytest.mark.spark

Row: TypeAlias = tuple[int, str | None, int | None]
# By key.
Table: TypeAlias = dict[int, Row]

ROWS: list[Row] = [(k, None if k % 7 == 0 else str(k), (0, 1, None)[k % 3]) for k in range(20)]
VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED, TRACKED = "'delta.enableChangeDataFeed' = 'true'", "'delta.enableRowTracking' = 'true'"
MAPPED = "'delta.columnMapping.mode' = 'name'"

LAYOUTS = {
    "tracked": ("", (TRACKED,), ("deltalake", "duckdb")),
    "feed, tracked, partitioned, by name": ("PARTITIONED BY (p)", (FEED, TRACKED, MAPPED), ()),
    "vectors": ("", (VECTORS,), ("deltalake", "duckdb")),
    "vectors, feed, tracked, partitioned": ("PARTITIONED BY (p)", (VECTORS, FEED, TRACKED), ("deltalake", "duckdb")),
}


def updated(choose: Callable[[Row], Any], change: Callable[[Row], Row]) -> Callable[[Table], Table]:
    return lambda before: {k: change(row) if choose(row) else row for k, row in before.items()}


def merged(
    source: dict[int, tuple[str, int | None]],
    matched: Callable[[Row, tuple[str, int | None]], Row | None] = lambda row, _: row,
    missing: Callable[[int, tuple[str, int | None]], Row | None] = lambda _, __: None,
    lone: Callable[[Row], Row | None] = lambda row: row,
) -> Callable[[Table], Table]:
    def after(before: Table) -> Table:
        found = {k: matched(row, source[k]) if k in source else lone(row) for k, row in before.items()}
        found |= {k: missing(k, given) for k, given in source.items() if k not in before}
        return {k: row for k, row in found.items() if row is not None}

    return after


THREE: dict[int, tuple[str, int | None]] = {3: ("x", 1), 4: ("y", None), 50: ("z", 2)}
VALUES = "(VALUES (3, 'x', 1), (4, 'y', NULL), (50, 'z', 2)) AS n (k, s, p)"

STEPS: list[tuple[str, Callable[[Table], Table]]] = [
    (
        "UPDATE {t} SET s = concat(s, '!'), p = coalesce(p, 0) + 1 WHERE k IN (3, 7, 15)",
        updated(lambda r: r[0] in (3, 7, 15), lambda r: (r[0], r[1] and r[1] + "!", (r[2] or 0) + 1)),
    ),
    ("UPDATE {t} SET p = 5 WHERE k > 100", lambda before: before),
    (
        "UPDATE {t} AS a SET a.s = (SELECT max(s) FROM other o WHERE o.k = a.k), p = DEFAULT "
        "WHERE EXISTS (SELECT 1 FROM other WHERE other.k = a.k) OR a.k = (SELECT max(k) FROM {t})",
        updated(lambda r: r[0] in (1, 2, 19), lambda r: (r[0], {1: "one", 2: "two"}.get(r[0]), None)),
    ),
    (
        f"MERGE INTO {{t}} AS t USING {VALUES} ON t.k = n.k "
        "WHEN MATCHED AND n.s = 'x' THEN UPDATE SET s = concat(t.s, n.s), p = n.p WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT *",
        merged(
            THREE,
            lambda r, n: (r[0], f"{r[1]}{n[0]}", n[1]) if n[0] == "x" else None,
            lambda k, n: (k, *n),
        ),
    ),
    (
        "MERGE INTO {t} USING other ON {t}.k = other.k + 4 WHEN NOT MATCHED BY SOURCE AND {t}.k > 12 THEN "
        "UPDATE SET s = 'lone' WHEN NOT MATCHED BY SOURCE AND p = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET p = 8",
        merged(
            {5: ("", 0), 6: ("", 0)},
            lambda r, _: (r[0], r[1], 8),
            lone=lambda r: (r[0], "lone", r[2]) if r[0] > 12 else None if r[2] == 0 else r,
        ),
    ),
    (
        "WITH o AS (SELECT k + 100 AS k, s FROM other) MERGE INTO {t} USING o ON {t}.k = o.k "
        "WHEN NOT MATCHED AND o.k = 101 THEN INSERT (k, s) VALUES (o.k, upper(o.s)) "
        "WHEN NOT MATCHED THEN INSERT (s, k, p) VALUES (o.s, o.k, 1)",
        merged({101: ("ONE", None), 102: ("two", 1)}, missing=lambda k, n: (k, *n)),
    ),
    (
        "DELETE FROM {t} WHERE k IN (SELECT k + 4 FROM other) OR s LIKE 'lone%' AND k % 2 = 0",
        lambda before: {k: r for k, r in before.items() if k not in (5, 6) and not (r[1] == "lone" and k % 2 == 0)},
    ),
]


def made(session: LakeSession, name: str, clauses: str, properties: tuple[str, ...]) -> None:
    """Two files at least, or two in each partition."""
    listed = ", ".join(("'a' = 'b'", *properties))
    run(session, f"CREATE TABLE {name} (k INT, s STRING, p INT) {clauses} TBLPROPERTIES ({listed})")
    for first in (0, 10):
        values = ", ".join(str(row).replace("None", "NULL") for row in ROWS[first : first + 10])
        run(session, f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def ordered(found: Any) -> list[Any]:
    return sorted(found, key=repr)


@pytest.mark.parametrize("layout", some(LAYOUTS, ("feed, tracked, partitioned, by name", "vectors")))
def test_rows_are_those_of_the_model(session: LakeSession, lake: Path, layout: str) -> None:
    clauses, properties, peers = LAYOUTS[layout]
    run(session, "CREATE TABLE IF NOT EXISTS other (k INT, s STRING)")
    run(session, "INSERT OVERWRITE other VALUES (1, 'one'), (2, 'two')")
    run(session, "DROP TABLE IF EXISTS things")
    made(session, "things", clauses, properties)
    model: Table = {row[0]: row for row in ROWS}
    ids: dict[int, int] = {}
    if TRACKED in properties:
        ids = dict(rows(session, "SELECT k, _metadata.row_id FROM things"))
    for text, step in STEPS:
        before, version = model, version_of(lake, "things")
        model = step(before)
        deleted, inserted = before.keys() - model.keys(), model.keys() - before.keys()
        changed = {k for k in model.keys() & before.keys() if model[k] != before[k]}
        count = len(deleted) + len(inserted) + len(changed)
        statement = text.replace("{t}", "things")
        assert run(session, statement) == count, statement
        assert ordered(rows(session, "SELECT * FROM things")) == ordered(model.values()), statement
        assert version_of(lake, "things") == version + bool(count), statement
        for peer in peers:
            found = PEERS[peer](lake / "default" / "things", ["k", "s", "p"])
            assert found == ordered(model.values()), (peer, statement)
        if count:
            ensure_reported(lake, version + 1, statement, len(changed), len(deleted), len(inserted))
        if count and FEED in properties:
            expected = [(*before[k], "delete") for k in deleted] + [(*model[k], "insert") for k in inserted]
            expected += [(*before[k], "update_preimage") for k in changed]
            expected += [(*model[k], "update_postimage") for k in changed]
            query = f"SELECT k, s, p, _change_type FROM table_changes('things', {version + 1}, {version + 1})"
            assert ordered(rows(session, query)) == ordered(expected), statement
        if TRACKED in properties:
            query = "SELECT k, _metadata.row_id, _metadata.row_commit_version FROM things"
            found_ids = {k: (number, changed_at) for k, number, changed_at in rows(session, query)}
            assert {k: number for k, (number, _) in found_ids.items() if k in ids} == {
                k: number for k, number in ids.items() if k in model
            }, statement
            assert {k for k, (_, at) in found_ids.items() if at == version + 1} == (
                changed | inserted if count else set()
            ), statement
            ids = {k: number for k, (number, _) in found_ids.items()}
            assert len(set(ids.values())) == len(ids)


def ensure_reported(lake: Path, version: int, text: str, num_updated: int, num_deleted: int, num_inserted: int) -> None:
    log = actions(lake, "things", version)
    (info,) = [action["commitInfo"] for action in log if "commitInfo" in action]
    adds = {action["add"]["path"]: action["add"] for action in log if "add" in action}
    removes = {action["remove"]["path"]: action["remove"] for action in log if "remove" in action}
    metrics = {name: int(value) for name, value in info["operationMetrics"].items()}
    operation = text.split()[0] if not text.startswith("WITH") else "MERGE"
    assert info["operation"] == operation and not info["isBlindAppend"]
    target = "Target" if operation == "MERGE" else ""
    if operation == "MERGE":
        assert metrics["numTargetRowsUpdated"] == num_updated and metrics["numTargetRowsDeleted"] == num_deleted
        assert metrics["numTargetRowsInserted"] == num_inserted
        assert metrics["numTargetFilesAdded"] == len(adds.keys() - removes.keys())
        assert metrics["numTargetFilesRemoved"] == len(removes.keys() - adds.keys())
        json.loads(info["operationParameters"]["matchedPredicates"])
    else:
        assert metrics.get("numUpdatedRows", 0) == num_updated and metrics.get("numDeletedRows", 0) == num_deleted
        assert metrics["numAddedFiles"] == len(adds.keys() - removes.keys())
        assert metrics["numRemovedFiles"] == len(removes.keys() - adds.keys())
    assert metrics[f"num{target}DeletionVectorsAdded"] == sum("deletionVector" in add for add in adds.values())
    vectors = sum("deletionVector" in remove for remove in removes.values())
    assert metrics[f"num{target}DeletionVectorsRemoved"] == vectors
