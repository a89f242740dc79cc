"""Whether the engine answers: a statement that needs no table, run now and then for the readiness check."""

from __future__ import annotations

import logging
import threading
import time

from engine.engine import Engine
from engine.errors.statement_errors import StatementTimedOut
from engine.runtime.context import StatementContext

logger = logging.getLogger(__name__)

_TIMEOUT_S = 5.0
_GOOD_FOR_S = 2.0


class EngineProbe:
    """Asks the engine at most once in two seconds, however often it is asked itself; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = float("-inf")
        self._answers = False

    def answers(self, engine: Engine) -> bool:
        with self._lock:
            if time.monotonic() - self._asked > _GOOD_FOR_S:
                self._answers = _ask(engine)
                self._asked = time.monotonic()
            return self._answers


def _ask(engine: Engine) -> bool:
    context = StatementContext(principal="readiness")
    timer = threading.Timer(_TIMEOUT_S, context.cancel.cancel, [StatementTimedOut(_TIMEOUT_S)])
    timer.daemon = True
    timer.start()
    try:
        session = engine.open_session("readiness", settings={}, catalog=None, schema=None)
        try:
            stream = session.execute("SELECT 1", context)
            rows = sum(int(batch.num_rows) for batch in stream.batches())
            stream.close()
        finally:
            session.close()
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine does not answer
        logger.warning("the engine does not answer: %s", error)
        return False
    finally:
        timer.cancel()
    return rows == 1
