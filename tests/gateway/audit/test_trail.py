"""Audit log files: modes, days, two writers, a full disk, and a killed process's leftovers."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from catalog.conditions import AuditNotWritten, AuditTrailBroken, AuditTrailInUse
from catalog.system.audit_table import trail_files
from gateway.audit import trail as trail_module
from gateway.audit.chain import GAP, verify
from gateway.audit.trail import Trail, trail_contents


def held(folder: Path) -> int:
    """Returns the number of valid lines; the test fails if the chain is broken."""
    head, broken = verify(trail_contents(folder))
    assert broken is None
    return head.seq


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    trail = Trail(tmp_path / "audit")
    trail.write({"event": "e"})
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in trail_files(tmp_path / "audit")] == [0o600]
    trail.close()


def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    for _ in range(3):
        trail = Trail(tmp_path)
        trail.write({"event": "e"})
        trail.close()
    assert held(tmp_path) == 3


def test_a_new_day_is_a_new_file_and_the_clock_may_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = Trail(tmp_path)
    for seconds in (1_767_225_599, 1_767_225_601, 1_767_225_598):  # around midnight before 2026-01-01
        monkeypatch.setattr(trail_module.time, "time_ns", lambda seconds=seconds: seconds * 10**9)
        trail.write({"event": "e"})
    trail.close()
    assert [path.name for path in trail_files(tmp_path)] == ["audit-2025-12-31.jsonl", "audit-2026-01-01.jsonl"]
    assert held(tmp_path) == 3


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    trail = Trail(tmp_path)
    threads = [
        threading.Thread(target=lambda: [trail.write({"event": "e", "text": "x" * 5000}) for _ in range(50)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trail.close()
    assert held(tmp_path) == 400


def test_two_servers_do_not_write_one_trail(tmp_path: Path) -> None:
    trail = Trail(tmp_path)
    with pytest.raises(AuditTrailInUse):
        Trail(tmp_path)
    trail.close()
    Trail(tmp_path).close()


@pytest.mark.parametrize("written", [0, 5, None])
def test_a_line_that_cannot_be_written_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int | None
) -> None:
    trail = Trail(tmp_path)
    trail.write({"event": "before"})
    write = os.write

    def fail(descriptor: int, content: bytes) -> int:
        if written is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:written])

    monkeypatch.setattr(trail_module.os, "write", fail)
    with pytest.raises(AuditNotWritten, match="space|full"):
        trail.write({"event": "lost"})
    monkeypatch.undo()
    trail.write({"event": "after"})
    trail.close()
    assert held(tmp_path) == 2
    assert b"lost" not in b"".join(content for _, content in trail_contents(tmp_path))


@pytest.mark.parametrize("left", [1, 20, -1])
def test_a_line_that_was_cut_by_a_kill_is_told_of(tmp_path: Path, left: int) -> None:
    trail = Trail(tmp_path)
    trail.write({"event": "first"})
    trail.write({"event": "second"})
    trail.close()
    (path,) = trail_files(tmp_path)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second.rstrip(b"\n")[:left])
    trail = Trail(tmp_path)
    trail.write({"event": "third"})
    trail.close()
    assert held(tmp_path) == 3
    assert f'"event":"{GAP}"'.encode() in path.read_bytes().splitlines()[2]


def test_a_cut_first_line_of_a_day_goes_on_from_the_day_before(tmp_path: Path) -> None:
    trail = Trail(tmp_path)
    trail.write({"event": "e"})
    trail.close()
    (tmp_path / "audit-9999-01-01.jsonl").write_bytes(b'{"v":1,')
    trail = Trail(tmp_path)
    trail.close()
    assert held(tmp_path) == 2


def test_a_file_that_is_no_trail_is_refused(tmp_path: Path) -> None:
    (tmp_path / "audit-2026-01-01.jsonl").write_bytes(b'{"a": 1}\n')
    with pytest.raises(AuditTrailBroken):
        Trail(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditNotWritten, match="file/audit"):
        Trail(tmp_path / "file" / "audit")
