"""Audit log files: modes, days, two writers, a full disk, and a killed process's leftovers."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from catalog.conditions import AuditLogBroken, AuditLogInUse, AuditNotWritten
from catalog.system.audit_table import log_files
from gateway.audit.audit_log import AuditLog, log_contents
from gateway.audit.chain import GAP, verify


def held(folder: Path) -> int:
    """Returns the number of valid lines; the test fails if the chain is broken."""
    chain_end, broken = verify(log_contents(folder))
    assert broken is None
    return chain_end.seq


def test_audit_log_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path / "audit")
    audit_log.write({"event": "e"})
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in log_files(tmp_path / "audit")] == [0o600]
    audit_log.close()


def test_audit_log_continues_after_a_restart(tmp_path: Path) -> None:
    for _ in range(3):
        audit_log = AuditLog(tmp_path)
        audit_log.write({"event": "e"})
        audit_log.close()
    assert held(tmp_path) == 3


def test_a_new_day_is_a_new_file_and_the_clock_may_go_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit_log = AuditLog(tmp_path)
    for seconds in (1_767_225_599, 1_767_225_601, 1_767_225_598):  # around midnight before 2026-01-01
        monkeypatch.setattr("gateway.audit.audit_log.time.time_ns", lambda seconds=seconds: seconds * 10**9)
        audit_log.write({"event": "e"})
    audit_log.close()
    assert [path.name for path in log_files(tmp_path)] == ["audit-2025-12-31.jsonl", "audit-2026-01-01.jsonl"]
    assert held(tmp_path) == 3


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path)

    def write_records() -> None:
        for _ in range(50):
            audit_log.write({"event": "e", "text": "x" * 5000})

    threads = [threading.Thread(target=write_records) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    audit_log.close()
    assert held(tmp_path) == 400


def test_second_server_cannot_write_audit_log(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path)
    with pytest.raises(AuditLogInUse):
        AuditLog(tmp_path)
    audit_log.close()
    AuditLog(tmp_path).close()


@pytest.mark.parametrize("written", [0, 5, None])
def test_a_line_that_cannot_be_written_whole_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int | None
) -> None:
    audit_log = AuditLog(tmp_path)
    audit_log.write({"event": "before"})
    write = os.write

    def fail(descriptor: int, content: bytes) -> int:
        if written is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:written])

    monkeypatch.setattr("gateway.audit.audit_log.os.write", fail)
    with pytest.raises(AuditNotWritten, match="space|full"):
        audit_log.write({"event": "lost"})
    monkeypatch.undo()
    audit_log.write({"event": "after"})
    audit_log.close()
    assert held(tmp_path) == 2
    assert b"lost" not in b"".join(content for _, content in log_contents(tmp_path))


@pytest.mark.parametrize("left", [1, 20, -1])
def test_torn_last_line_is_reported(tmp_path: Path, left: int) -> None:
    audit_log = AuditLog(tmp_path)
    audit_log.write({"event": "first"})
    audit_log.write({"event": "second"})
    audit_log.close()
    (path,) = log_files(tmp_path)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second.rstrip(b"\n")[:left])
    audit_log = AuditLog(tmp_path)
    audit_log.write({"event": "third"})
    audit_log.close()
    assert held(tmp_path) == 3
    assert f'"event":"{GAP}"'.encode() in path.read_bytes().splitlines()[2]


def test_a_cut_first_line_of_a_day_goes_on_from_the_day_before(tmp_path: Path) -> None:
    audit_log = AuditLog(tmp_path)
    audit_log.write({"event": "e"})
    audit_log.close()
    (tmp_path / "audit-9999-01-01.jsonl").write_bytes(b'{"v":1,')
    audit_log = AuditLog(tmp_path)
    audit_log.close()
    assert held(tmp_path) == 2


def test_file_of_other_format_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "audit-2026-01-01.jsonl").write_bytes(b'{"a": 1}\n')
    with pytest.raises(AuditLogBroken):
        AuditLog(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditNotWritten, match="file/audit"):
        AuditLog(tmp_path / "file" / "audit")
