"""Tables whose features we drop: delta-spark reads the same rows, and goes on with the table without the feature."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run
from tests.engine.test_dropped_features import CASES, MAPPED, make, mapped
from tests.oracle.conftest import Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(3000)]


def test_peer_reads_and_optimizes_tables_without_the_feature(oracle: Oracle, session: LakeSession, lake: Path) -> None:
    cases = {**CASES, **{name: mapped(*steps) for name, steps in MAPPED.items()}}
    requested, expected = [], []
    for number, (name, case) in enumerate(cases.items()):
        make(session, lake / "freed", case)
        version = load_snapshot(str(lake / "freed")).version
        truth = sorted([row[0]] for row in rows(session, "SELECT CAST(struct(*) AS STRING) FROM freed"))
        run(session, f"ALTER TABLE freed DROP FEATURE {case.feature}")
        ignored = shutil.ignore_patterns("*.tmp")  # post-commit work may still run
        folder = shutil.copytree(lake / "freed", lake.parent / f"kept{number}", ignore=ignored)
        read = f"SELECT CAST(struct(*) AS STRING) FROM delta.`{folder}`"
        requested += [read, f"{read} VERSION AS OF {version}", f"OPTIMIZE delta.`{folder}`", read]
        expected.append((name, case.feature, folder, truth))
    answers = iter(oracle(requested))
    for name, feature, folder, truth in expected:
        for what in ("newest", "before", "optimized", "after"):
            answer = next(answers)
            assert what == "optimized" or sorted(answer) == truth, (name, what)
        assert feature not in load_snapshot(str(folder)).config.features, name
