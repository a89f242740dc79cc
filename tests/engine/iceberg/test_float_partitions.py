"""Identity partitions by floating-point numbers: -0.0 and 0.0 differ, NaN is one value."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.iceberg.test_row_changes import read_by_all
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

STATEMENTS: list[tuple[str, list[tuple[int, str | None]]]] = [
    # statement, rows after it as texts
    ("SELECT 1", [(1, "0.0"), (2, "-0.0"), (3, "NaN"), (4, "1.5"), (5, None), (6, "-0.0"), (7, "0.0")]),
    (
        "UPDATE {t} SET id = id + 10 WHERE id < 6",
        [(6, "-0.0"), (7, "0.0"), (11, "0.0"), (12, "-0.0"), (13, "NaN"), (14, "1.5"), (15, None)],
    ),
    (
        "INSERT OVERWRITE {t} SELECT id + 1, d FROM {t} WHERE id IN (6, 7)",
        [(7, "-0.0"), (8, "0.0")],
    ),
    (
        "CALL system.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
        [(7, "-0.0"), (8, "0.0")],
    ),
    (
        "MERGE INTO {t} t USING (SELECT 8 AS id) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET id = 9"
        " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = 10",
        [(9, "0.0"), (10, "-0.0")],
    ),
    ("DELETE FROM {t} WHERE id = 9", [(10, "-0.0")]),
]


@pytest.mark.diagonals("mode", "type_", "format_", step=2)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_positive_and_negative_zero_are_preserved(
    session: LakeSession, lake: Path, type_: str, format_: str, mode: str
) -> None:
    name = f"zeros_{format_}_{type_}_{mode[:4]}".lower()
    settings = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    if format_ == "delta":
        settings = f"'delta.enableDeletionVectors' = '{str(mode == 'merge-on-read').lower()}'"
    run(
        session,
        f"CREATE TABLE {name} (id INT, d {type_}) USING {format_} PARTITIONED BY (d) TBLPROPERTIES ({settings})",
    )
    values = ", ".join(f"({id}, {type_}('{text}'))" for id, text in STATEMENTS[0][1] if text is not None)
    run(session, f"INSERT INTO {name} VALUES {values}, (5, NULL)")
    for statement, expected in STATEMENTS:
        if format_ == "delta" and statement.startswith("CALL"):
            continue
        run(session, statement.format(t=name))
        assert rows(session, f"SELECT id, CAST(d AS STRING) FROM {name} ORDER BY id") == expected
        zeros = [id for id, text in expected if text in ("0.0", "-0.0")]
        assert [id for (id,) in rows(session, f"SELECT id FROM {name} WHERE d = 0 ORDER BY id")] == zeros
    if format_ == "iceberg":
        read_by_all(session, lake, name)


def test_metadata_tables_show_both_zeros(session: LakeSession) -> None:
    run(session, "CREATE TABLE shown (id INT, d DOUBLE) USING iceberg PARTITIONED BY (d)")
    run(session, "INSERT INTO shown VALUES (1, 0.0), (2, DOUBLE('-0.0')), (3, DOUBLE('NaN'))")
    run(session, "INSERT INTO shown VALUES (4, 0.0), (5, DOUBLE('-0.0')), (6, DOUBLE('NaN'))")
    for relation in ("shown.partitions", "shown"):
        column = "partition.d" if relation != "shown" else "_partition.d"
        query = f"SELECT CAST({column} AS STRING) AS d FROM {relation}"
        found = rows(session, f"SELECT d, count(*) FROM ({query}) GROUP BY d ORDER BY d")
        count = 1 if relation != "shown" else 2
        assert found == [("-0.0", count), ("0.0", count), ("NaN", count)]
