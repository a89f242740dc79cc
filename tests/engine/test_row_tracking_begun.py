"""Row tracking switched on for a table that has rows: all get ids that stay, whatever others commit meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeSession
from engine.plan.ddl import row_tracking
from tests.engine.lake_sessions import actions, refuse, rows, run, table

pytestmark = pytest.mark.spark

BEGIN = "ALTER TABLE begun SET TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'x' = 'y')"
IDS = "SELECT k, _metadata.row_id, _metadata.row_commit_version FROM begun ORDER BY k"


def made(session: LakeSession, properties: str = "'a' = 'b'") -> None:
    run(session, "DROP TABLE IF EXISTS begun")
    run(session, f"CREATE TABLE begun (k INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ({properties})")
    for p in range(3):
        run(session, f"INSERT INTO begun SELECT /*+ COALESCE(1) */ * FROM VALUES ({p * 2}, {p}), ({p * 2 + 1}, {p})")


def operations(session: LakeSession) -> list[str]:
    return table(session, "DESCRIBE HISTORY begun").column("operation").to_pylist()[::-1]


def test_every_row_has_an_id_that_stays(session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_tracking, "FILES_MAX", 2)
    made(session)
    run(session, BEGIN)
    steps = ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL", "ROW TRACKING BACKFILL", "SET TBLPROPERTIES"]
    assert operations(session)[4:] == steps
    added = [line["add"] for version in (5, 6) for line in actions(lake, "begun", version) if "add" in line]
    assert len(added) == 3 and not any(add["dataChange"] for add in added)
    before = rows(session, IDS)
    assert sorted(row_id for _, row_id, _ in before) == list(range(6))
    run(session, "DELETE FROM begun WHERE k = 2")
    run(session, "INSERT INTO begun VALUES (9, 0)")
    after = rows(session, IDS)
    assert after[:-1] == [row for row in before if row[0] != 2] and after[-1][1] > 5
    assert DeltaTable(lake / "default/begun").to_pyarrow_table().num_rows == 6
    snapshot = load_snapshot(str(lake / "default/begun"))
    names = {key: text for key, text in snapshot.metadata.configuration.items() if "materialized" in key}
    run(session, "ALTER TABLE begun SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')")
    run(session, BEGIN)
    again = load_snapshot(str(lake / "default/begun")).metadata.configuration
    assert {key: again[key] for key in names} == names and len(names) == 2
    assert rows(session, IDS) == after


def test_a_table_without_rows_gets_no_version_for_them(session: LakeSession) -> None:
    run(session, "DROP TABLE IF EXISTS begun")
    run(session, "CREATE TABLE begun (k INT, p INT)")
    run(session, BEGIN)
    assert operations(session) == ["CREATE TABLE", "UPGRADE PROTOCOL", "SET TBLPROPERTIES"]


MEANWHILE = {
    "rows come": "INSERT INTO begun VALUES (8, 0), (9, 1)",
    "rows go": "DELETE FROM begun WHERE k = 3",
    "a partition goes": "DELETE FROM begun WHERE p = 2",
    "all is replaced": "INSERT OVERWRITE begun VALUES (7, 7)",
}


@pytest.mark.parametrize("step", range(3))
@pytest.mark.parametrize("statement", MEANWHILE.values(), ids=MEANWHILE)
def test_what_others_commit_before_a_step_counts(
    session: LakeSession, lake: Path, monkeypatch: pytest.MonkeyPatch, step: int, statement: str
) -> None:
    made(session)
    commit, calls = Transaction.commit, iter(range(100))

    def between(self: Transaction, *args: Any, **options: Any) -> Any:
        if next(calls) == step:
            monkeypatch.setattr(Transaction, "commit", commit)
            run(session, statement)
        return commit(self, *args, **options)

    monkeypatch.setattr(Transaction, "commit", between)
    run(session, BEGIN)
    expected = sorted(DeltaTable(lake / "default/begun").to_pyarrow_table().column("k").to_pylist())
    found = rows(session, IDS)
    assert [k for k, _, _ in found] == expected
    assert len({row_id for _, row_id, _ in found} - {None}) == len(found)


def test_files_without_a_count_of_rows_stop_it(session: LakeSession, lake: Path) -> None:
    made(session)
    log = lake / "default/begun/_delta_log/00000000000000000002.json"
    log.write_text(log.read_text().replace("numRecords", "numberOf"))
    assert refuse(session, BEGIN).condition == "DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS"
    assert rows(session, "SELECT count(k) FROM begun") == [(6,)]
