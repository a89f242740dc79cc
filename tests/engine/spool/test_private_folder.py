"""Killed servers' temporary folders are removed at the next start; running servers' folders stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.spool.private_folder import PrivateFolder

SERVER = (
    "import sys; from engine.spool.private_folder import PrivateFolder; PrivateFolder(sys.argv[1]); print(flush=True)"
)


def test_leftovers_of_a_killed_server_are_removed_at_start(tmp_path: Path) -> None:
    unknown = tmp_path / "delta-gateway-unknown"
    unknown.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", f"{SERVER}; sys.stdin.read()", tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout
        server.stdout.readline()
        (other,) = set(tmp_path.iterdir()) - {unknown}
        (other / "rows-0").write_text("a result")
        ours, beside = PrivateFolder(str(tmp_path)), PrivateFolder(str(tmp_path))
        assert set(tmp_path.iterdir()) == {unknown, other, ours.path, beside.path} and (other / "rows-0").exists()
        server.kill()
    last = PrivateFolder(str(tmp_path))
    assert set(tmp_path.iterdir()) == {unknown, ours.path, beside.path, last.path}
    for folder in (ours, beside, last, last):
        folder.remove()
    assert list(tmp_path.iterdir()) == [unknown]


def test_private_folder_has_mode_0700(tmp_path: Path) -> None:
    assert PrivateFolder(str(tmp_path)).path.stat().st_mode & 0o777 == 0o700
