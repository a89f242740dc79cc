"""Warm-up statements, which make clients' first statements faster.

The first statement of each kind waits for Java: classes are found, linked and interpreted, and compilers run for the
first time. So once Spark has started, statements of each kind run on a separate thread, over a sample lake in a
temporary directory that no client sees. A client's statement never waits for them: a warm-up statement starts only
while no client statement runs, and each is small. The first failure ends the warm-up, and is only logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from catalog.conditions import StatementCancelled
from engine.concurrency.cancel import CancelToken
from engine.engine import EngineSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.sample.data import SAMPLE_READS, SAMPLE_WRITES
from engine.sample.lake import ensure_sample_lake
from engine.spool.private_folder import PrivateFolder

logger = logging.getLogger(__name__)

IDENTITY = Identity("warm-up")
# Reads are repeated: Java compiles frequently executed code.
STATEMENTS = (*SAMPLE_READS, *SAMPLE_READS, *SAMPLE_READS, *SAMPLE_WRITES)
# How long the server's end waits for the running statement.
_END_S = 10.0


class RunningStatements:
    """The number of running client statements."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Counts a client's statement as running for the duration of the block."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait_for_none(self, timeout_s: float) -> bool:
        """Returns whether no statement runs, after at most `timeout_s` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, timeout_s)


class WarmUp:
    """The warm-up: `start()` once, `stop()` at the server's end; `open_session` opens a session over a lake in a
    directory.
    """

    def __init__(
        self,
        open_session: Callable[[str], AbstractContextManager[EngineSession]],
        clients: RunningStatements,
        local_dir: str | None,
        lasting_s: float = 120.0,
    ) -> None:
        """Runs for at most `lasting_s` seconds; on a busy server, client statements have warmed it up by then."""
        self._open_session = open_session
        self._clients = clients
        self._local_dir = local_dir
        self._lasting_s = lasting_s
        self._cancel = CancelToken()
        self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)

    def start(self) -> None:
        """Starts the warm-up on its own thread and returns immediately."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the running statement, and starts no other."""
        self._cancel.cancel(StatementCancelled())
        self._thread.join(_END_S)

    def _run(self) -> None:
        began = time.monotonic()
        try:
            count = self._run_statements(began + self._lasting_s)
        except Exception:  # client statements do not depend on the warm-up
            if self._cancel.reason is None:
                logger.warning("the first statements of clients may take longer", exc_info=True)
            return
        logger.info("warmed up by %d statements in %.1f s", count, time.monotonic() - began)

    def _run_statements(self, until: float) -> int:
        """Returns the number of executed statements."""
        folder = PrivateFolder(self._local_dir)
        try:
            lake = str(folder.path / "lake")
            ensure_sample_lake(lake)
            with self._open_session(lake) as session:
                for count, text in enumerate(STATEMENTS):
                    if not self._clients.wait_for_none(until - time.monotonic()):
                        return count
                    request = StatementRequest(identity=IDENTITY, cancel=self._cancel)
                    for _ in session.execute(text, request).batches():
                        pass
            return len(STATEMENTS)
        finally:
            folder.remove()
