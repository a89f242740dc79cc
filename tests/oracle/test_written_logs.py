"""Logs that we write, checkpoints in all their forms among them, are logs that delta-spark reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.delta.snapshot.snapshot import Snapshot
from tests.engine.delta.test_interop import CASES, build, expected_rows
from tests.oracle.conftest import Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(3000)]


def test_peer_reads_every_form_of_log(oracle: Oracle, tmp_path: Path) -> None:
    expected, reads = [], []
    for number, case in enumerate(CASES.values()):
        root = tmp_path / f"t{number}"
        snapshot = Snapshot.load(build(root, case))
        reads.append(f"SELECT * FROM delta.`{root}`")
        texts = [[None if cell is None else str(cell) for cell in row] for row in expected_rows(snapshot, root)]
        expected.append(sorted(texts, key=repr))
    for name, truth, answer in zip(CASES, expected, oracle(reads), strict=True):
        assert sorted(answer, key=repr) == truth, name
