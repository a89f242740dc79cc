"""Temporary folders of servers that were killed go with the next start; those of running ones stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.exec.work_dir import make_work_dir


def test_what_a_killed_server_left_goes_with_the_next_start(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    abandoned, unknown = tmp_path / "delta-gateway-abandoned", tmp_path / "delta-gateway-unknown"
    for folder in (abandoned, unknown):
        (folder / "spool").mkdir(parents=True)
    (abandoned / "owner").write_text(str(ended.pid))
    ours = make_work_dir(str(tmp_path))
    beside = make_work_dir(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([ours, beside, unknown])
