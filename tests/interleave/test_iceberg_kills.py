"""Killed writers on an Iceberg table: acknowledged rows exist once, and every version is readable."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.storage.storage import LocalStorage
from tests.interleave.iceberg_histories import create_table, format_over, state_of, states_of
from tests.paths import ROOT

_WRITER = """
import sys
from engine.storage.storage import LocalStorage
from tests.interleave import histories
from tests.interleave.iceberg_histories import run_op

storage = LocalStorage(sys.argv[1])
print("ready", flush=True)
for number in range(1000):
    who = f"{sys.argv[2]}x{number}"
    run_op(storage, histories.APPEND_A, who)
    print(who, flush=True)
"""


@pytest.mark.slow
def test_killed_writers_leave_whole_versions(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    storage = LocalStorage(str(folder))
    create_table(storage)
    chance, reported = random.Random(7), list[str]()
    for round_number in range(12):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, folder, f"w{round_number}{side}"], cwd=ROOT, stdout=subprocess.PIPE
            )
            for side in "ab"
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.02, 0.4))
        for writer in writers:
            writer.kill()
            assert writer.stdout is not None
            reported += writer.stdout.read().decode().split()
            writer.wait()
    rows = [row for file in state_of(format_over(storage).load(storage.root)).files for row in file.rows]
    assert len(rows) == len(set(rows))
    assert len(reported) > 12
    assert set(reported) <= set(rows)
    assert len(states_of(storage)) == max(states_of(storage))  # each version is there and readable
