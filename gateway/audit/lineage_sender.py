"""Sends lineage events to a collector, at least once: events are files until the collector has accepted them.

Each event is a file, and the oldest is sent first. A failed delivery is retried with growing delays; an event that the
collector rejects permanently, or redirects, is renamed, so that it does not block others. If too many events are
pending, the oldest are deleted with a log message: lineage never blocks a statement.

A statement has two events: when it begins to access tables, and when it has ended.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catalog.rest.no_redirect import NoRedirect
from catalog.secret_files import make_private_folder
from engine.runtime.accesses import StatementAccess
from gateway.audit.open_lineage import EventType, datasets, error_facet, job_of, run_event, user_facet
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState

SPOOLED_MAX = 10_000
_PAUSE_S, _PAUSE_S_MAX, _TIMEOUT_S = 1.0, 60.0, 10.0
_AGAIN = (408, 425, 429)
_REFUSED = ".refused"
_OPENER = urllib.request.build_opener(NoRedirect())
logger = logging.getLogger(__name__)


class LineageSender:
    """Spools and sends events. Thread-safe; `token` is sent as a bearer token with each request."""

    def __init__(self, url: str, folder: Path, token: str = "", *, pause_s: float = _PAUSE_S) -> None:
        """Opens the spool folder; raises the same errors as creating a private folder."""
        make_private_folder(folder)
        self._url = url
        self._folder = folder
        self._token = token
        self._pause_s = pause_s
        self._wake = threading.Event()
        self._is_closed = False
        self._count = 0
        self._lock = threading.Lock()
        self._wake.set()  # an earlier process may have left some
        threading.Thread(target=self._run, name="lineage", daemon=True).start()

    def send(self, event: Mapping[str, Any]) -> None:
        """Spools an event. Never raises."""
        with self._lock:
            self._count += 1
            name = f"{time.time_ns():020}-{self._count:08}.json"
        try:
            path = self._folder / f"{name}.new"
            path.touch(0o600)
            path.write_text(json.dumps(event))
            path.replace(self._folder / name)
        except OSError:
            logger.exception("an event of lineage could not be kept")
        self._wake.set()

    def close(self) -> None:
        """Stops sending; spooled events are sent after the next start."""
        self._is_closed = True
        self._wake.set()

    def _run(self) -> None:
        pause = self._pause_s
        while not self._is_closed:
            self._wake.wait()
            self._wake.clear()
            try:
                while not self._is_closed and not self._send_all():
                    time.sleep(pause)
                    pause = min(pause * 2, _PAUSE_S_MAX)
                pause = self._pause_s
            except Exception:
                logger.exception("events of lineage were not sent")

    def _send_all(self) -> bool:
        """Sends pending events; returns True if none that could be sent is left."""
        files = sorted(self._folder.glob("*.json"))
        for dropped in files[:-SPOOLED_MAX]:
            logger.error("the event of lineage %s was never sent: more than %d wait", dropped.name, SPOOLED_MAX)
            dropped.unlink(missing_ok=True)
        for file in files[-SPOOLED_MAX:]:
            if self._is_closed:
                return True
            if not self._send(file):
                return False
        return True

    def _send(self, file: Path) -> bool:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, file.read_bytes(), headers)
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S):
                pass
        except urllib.error.HTTPError as error:
            if error.code >= 500 or error.code in _AGAIN:
                logger.warning("the collector of lineage answers %d; events wait", error.code)
                return False
            logger.error("the collector of lineage refuses %s with %d", file.name, error.code)
            os.replace(file, file.with_suffix(_REFUSED))
            return True
        except (OSError, http.client.HTTPException) as error:
            logger.warning("the collector of lineage is not reached; events wait: %.200s", error)
            return False
        file.unlink(missing_ok=True)
        return True


class LineageEvents:
    """Receives events from the auditor, on the statements' threads; thread-safe."""

    def __init__(self, sender: LineageSender, namespace: str) -> None:
        self._sender = sender
        self._namespace = namespace

    def began(self, operation: Operation, access: StatementAccess, text: Mapping[str, Any]) -> None:
        """Sends the start event. `text` are the text's fields in the audit log. A script begins with its first
        statement.
        """
        if operation.trace is None or operation.trace.accesses:
            return
        job = self._job(access.statement, text)
        event = run_event(EventType.START, operation.created_ms, str(operation.id), job, _user(operation))
        event["inputs"], event["outputs"] = datasets(self._namespace, (access,))
        if event["inputs"] or event["outputs"]:
            self._sender.send(event)

    def record_end(self, operation: Operation, text: Mapping[str, Any]) -> None:
        """Sends the end event, except for a statement that accessed no tables, or was denied."""
        trace = operation.trace
        if trace is None or not trace.accesses or operation.ended_ms is None:
            return
        facets = _user(operation)
        if operation.error is not None:
            facets |= error_facet(operation.error.condition)
        job = self._job(trace.accesses[0].statement, text)
        event = run_event(_kind(operation), operation.ended_ms, str(operation.id), job, facets)
        event["inputs"], event["outputs"] = datasets(self._namespace, trace.accesses, trace)
        if event["inputs"] or event["outputs"]:
            self._sender.send(event)

    def close(self) -> None:
        """Ends the sender; spooled events are sent after the next start."""
        self._sender.close()

    def _job(self, kind: str, text: Mapping[str, Any]) -> dict[str, Any]:
        return job_of(self._namespace, kind, text["text_sha256"], text.get("text"))


def _kind(operation: Operation) -> EventType:
    if operation.state in (OperationState.CANCELED, OperationState.TIMED_OUT):
        return EventType.ABORT
    return EventType.FAIL if operation.error is not None else EventType.COMPLETE


def _user(operation: Operation) -> dict[str, Any]:
    return user_facet(operation.identity.principal)
