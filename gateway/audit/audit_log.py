"""Writes the audit log: one file per day in a private folder, each line whole or not at all.

A line is written by one call in append mode. If that fails, or writes only a part, the file is truncated back and the
error is raised, so that the action to be recorded can be rejected. Two servers must not write the same log: the folder
is locked while it is open.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from catalog.conditions import AuditLogBroken, AuditLogInUse, AuditNotWritten
from catalog.system.audit_table import day_of, file_name, log_files
from gateway.audit.chain import GAP, ChainEnd, digest_of, follow, format_line, is_cut
from gateway.audit.signed_digests import ChainSigner

_LOCK = "trail.lock"
_MODE, _FOLDER_MODE = 0o600, 0o700


class AuditLog:
    """An audit log. Thread-safe. Raises `AuditNotWritten` for a folder or a line that cannot be written,
    `AuditLogInUse` for a folder that another process has open, `AuditLogBroken` if the newest file is not an audit
    log.
    """

    def __init__(self, folder: Path, *, is_synced: bool = False, signer: ChainSigner | None = None) -> None:
        """Opens the folder. `is_synced`: :meth:`write` returns only after the line is on disk. `signer` receives each
        line's head.
        """
        self._folder = folder
        self._is_synced = is_synced
        self._signer = signer
        # Guards all attributes below.
        self._mutex = threading.Lock()
        self._day = ""
        self._file = -1
        try:
            folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            self._lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        except OSError as error:
            raise AuditNotWritten(str(folder), error.strerror or str(error)) from error
        try:
            # Two writers would each continue the chain from the same line, and both
            # continuations would be broken.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._chain_end = self._recover()
        except BlockingIOError as error:
            os.close(self._lock)
            raise AuditLogInUse(str(folder)) from error
        except BaseException:
            os.close(self._lock)
            raise

    @property
    def chain_end(self) -> ChainEnd:
        """Returns the number and digest of the newest line, to which the next one is chained."""
        return self._chain_end

    def write(self, fields: Mapping[str, Any]) -> None:
        """Appends a line with these fields and the time."""
        with self._mutex:
            now_ms = time.time_ns() // 1_000_000
            moment = dt.datetime.fromtimestamp(now_ms / 1000, dt.UTC)
            line = format_line(self._chain_end, {"time": moment.isoformat(timespec="milliseconds"), **fields})
            self._append(moment.date().isoformat(), line)
            self._chain_end = ChainEnd(self._chain_end.seq + 1, digest_of(line))
            if self._signer is not None:
                self._signer.note(self._chain_end)

    def close(self) -> None:
        """Closes the file, releases the folder for other processes, and closes the signer."""
        with self._mutex:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            os.close(self._lock)
        if self._signer is not None:
            self._signer.close()

    def _append(self, day: str, line: bytes) -> None:
        try:
            if day > self._day or self._file < 0:  # never backwards, even if the clock is set back
                self._open(max(day, self._day))
            size = os.fstat(self._file).st_size
            try:
                if os.write(self._file, line + b"\n") != len(line) + 1:
                    raise OSError(0, "the disk is full")
                if self._is_synced:
                    # The size is among the data's metadata that `fdatasync` writes; times
                    # are not needed.
                    os.fdatasync(self._file)
            except OSError:
                # A part of a line would make the next one unreadable. Safe under the mutex
                # and the folder's lock: nobody else has appended.
                os.ftruncate(self._file, size)
                raise
        except OSError as error:
            raise AuditNotWritten(str(self._folder), error.strerror or str(error)) from error

    def _open(self, day: str) -> None:
        # A symbolic link in the folder could send the log into another file.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        opened = os.open(self._folder / file_name(day), flags, _MODE)
        if self._file >= 0:
            os.close(self._file)
        self._file = opened
        self._day = day

    def _recover(self) -> ChainEnd:
        """Finds the append position; a torn last line is reported in the next record."""
        files = log_files(self._folder)
        if not files:
            return ChainEnd()
        newest = files[-1]
        self._day = day_of(newest)
        lines = newest.read_bytes().splitlines()
        cut = lines.pop() if lines and is_cut(lines[-1]) else None
        if not lines:  # the file has only a torn line
            before = [path for path in files[:-1] if path.stat().st_size]
            chain_end = _last_chain_end(before[-1], before[-1].read_bytes().splitlines()[-1]) if before else ChainEnd()
        else:
            chain_end = _last_chain_end(newest, lines[-1])
        if cut is not None:
            return self._tell_of(cut, chain_end)
        return chain_end

    def _tell_of(self, cut: bytes, chain_end: ChainEnd) -> ChainEnd:
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = format_line(chain_end, {"time": now, "event": GAP, "cut_sha256": digest_of(cut)})
        self._append(self._day, b"\n" + line if self._ends_open() else line)
        return ChainEnd(chain_end.seq + 1, digest_of(line))

    def _ends_open(self) -> bool:
        return not log_files(self._folder)[-1].read_bytes().endswith(b"\n")


def log_contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yields names and contents, for :func:`gateway.audit.chain.verify`."""
    return ((path.name, path.read_bytes()) for path in log_files(folder))


def _last_chain_end(path: Path, line: bytes) -> ChainEnd:
    """Returns a line's head, without checking the preceding lines."""
    try:
        number, prev = _parts(line)
        return follow(ChainEnd(number - 1, prev), line)
    except (ValueError, KeyError, TypeError) as error:
        raise AuditLogBroken(str(path), str(error)) from error


def _parts(line: bytes) -> tuple[int, str]:
    content = json.loads(line)
    return int(content["seq"]), str(content["prev"])
