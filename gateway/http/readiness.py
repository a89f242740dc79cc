"""Engine health: a statement without tables, run periodically for the readiness check.

The statement runs on its own thread, one at a time. A request waits for it up to a time limit; after that the engine
counts as not responding, for everybody and immediately, until that statement ends.

Two checks are for operators: liveness, and readiness for work.
"""

from __future__ import annotations

import logging
import threading
import time
from http import HTTPStatus

from flask import Blueprint

from catalog.conditions import StatementTimedOut
from engine.engine import Engine
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from gateway.lifecycle import Lifecycle, Phase

logger = logging.getLogger(__name__)

_TIMEOUT_S = 5.0
_GOOD_FOR_S = 2.0
_IDENTITY = Identity("readiness")
# A cached result would hide that Spark does not respond.
_SETTINGS = {"gateway.result_cache": "off"}


class EngineProbe:
    """Queries the engine at most once in two seconds, regardless of its own callers; thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requested_at = self._answered = float("-inf")
        self._is_asking = self._answers = False

    def answers(self, engine: Engine) -> bool:
        """Returns True if the engine has answered within the time limit; waits for the probe that is running."""
        with self._changed:
            if not self._is_asking and time.monotonic() - self._answered > _GOOD_FOR_S:
                self._requested_at = time.monotonic()
                self._is_asking = True
                threading.Thread(target=self._ask, args=(engine,), name="readiness", daemon=True).start()
            left = self._requested_at + _TIMEOUT_S - time.monotonic()
            self._changed.wait_for(lambda: not self._is_asking, max(0.0, left))
            return self._answers and not self._is_asking

    def _ask(self, engine: Engine) -> None:
        answers = False
        try:
            answers = _ask(engine)
        finally:  # after an exception, the next caller starts another
            with self._changed:
                self._answers = answers
                self._is_asking = False
                self._answered = time.monotonic()
                self._changed.notify_all()


def _ask(engine: Engine) -> bool:
    request = StatementRequest(identity=_IDENTITY)
    timer = threading.Timer(_TIMEOUT_S, request.cancel.cancel, [StatementTimedOut(_TIMEOUT_S)])
    timer.daemon = True
    timer.start()
    try:
        session = engine.open_session(_IDENTITY, settings=_SETTINGS, catalog=None, schema=None)
        try:
            stream = session.execute("SELECT 1", request)
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


def health_blueprint(lifecycle: Lifecycle) -> Blueprint:
    """Creates `GET /healthz` (the process is alive), `GET /readyz` (503 unless it accepts statements)."""
    routes = Blueprint("health", __name__)
    probe = EngineProbe()

    @routes.get("/healthz")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @routes.get("/readyz")
    def readyz() -> tuple[dict[str, str], HTTPStatus]:
        registry = lifecycle.registry
        if lifecycle.phase is not Phase.READY or registry is None:
            return {"status": lifecycle.phase}, HTTPStatus.SERVICE_UNAVAILABLE
        if (reason := registry.engine.unready_reason) is not None:
            return {"status": f"Spark is not ready: {reason}"}, HTTPStatus.SERVICE_UNAVAILABLE
        if not probe.answers(registry.engine):
            return {"status": "the engine does not answer"}, HTTPStatus.SERVICE_UNAVAILABLE
        return {"status": Phase.READY}, HTTPStatus.OK

    return routes
