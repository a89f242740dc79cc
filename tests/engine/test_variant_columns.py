"""Variant columns: written by every writing statement, as other readers expect them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.main import LakeSession
from tests.duck import open_duckdb
from tests.engine.lake_sessions import actions, rows, run

pytestmark = pytest.mark.spark


def test_variants_are_written_by_every_statement(session: LakeSession, lake: Path) -> None:
    feed = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    run(session, f"CREATE TABLE vs (k INT, v VARIANT, s STRUCT<w: VARIANT>, a ARRAY<VARIANT>) {feed}")
    run(
        session,
        "INSERT INTO vs SELECT 1, parse_json('{\"a\": [1, 2.5]}'), named_struct('w', parse_json('1')), "
        "array(parse_json('\"x\"'), NULL) UNION ALL SELECT 2, parse_json('null'), NULL, NULL "
        "UNION ALL SELECT 3, NULL, named_struct('w', NULL), array()",
    )
    (stats,) = [json.loads(each["add"]["stats"]) for each in actions(lake, "vs", 1) if "add" in each]
    assert stats["nullCount"] == {"k": 0, "v": 1, "s": {"w": 2}, "a": 1}
    assert stats["minValues"].keys() == {"k"}
    assert rows(session, "SELECT k FROM vs WHERE v IS NULL") == [(3,)]
    run(session, "UPDATE vs SET v = to_variant_object(named_struct('b', k)), s.w = parse_json('[]') WHERE k = 3")
    run(
        session,
        "MERGE INTO vs USING (VALUES (1, '{}'), (4, '4')) AS n (k, t) ON vs.k = n.k AND vs.v IS NOT NULL "
        "WHEN MATCHED THEN UPDATE SET v = parse_json(n.t) "
        "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (k, parse_json(t))",
    )
    expected = [
        (1, "{}", '{"w":1}', '["x",null]'),
        (2, "null", None, None),
        (3, '{"b":3}', '{"w":[]}', "[]"),
        (4, "4", None, None),
    ]
    shown = "SELECT k, to_json(v), to_json(s), to_json(a) FROM {} ORDER BY k"
    assert rows(session, shown.format("vs")) == expected
    changed = "SELECT _change_type, k, to_json(v) FROM table_changes('vs', 3) WHERE k <> 4 ORDER BY 1"
    assert rows(session, changed) == [
        ("update_postimage", 1, "{}"),
        ("update_preimage", 1, '{"a":[1,2.5]}'),
    ]
    run(session, "CREATE TABLE copied TBLPROPERTIES ('delta.enableVariantShredding' = 'true') AS SELECT * FROM vs")
    run(session, "OPTIMIZE vs")
    assert rows(session, shown.format("vs")) == rows(session, shown.format("copied")) == expected
    for path in (lake / "default").rglob("*.parquet"):
        assert "typed_value" not in str(pq.read_schema(path)), "tables need a feature for shredded variants"
    duck = open_duckdb().sql(f"SELECT k, v::JSON FROM delta_scan('{lake / 'default' / 'vs'}') ORDER BY k").fetchall()
    assert duck == [(k, v) for k, v, *_ in expected]
