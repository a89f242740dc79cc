"""The two checks for operators: does it live, does it take work."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint

from gateway.http.readiness import EngineProbe
from gateway.process.lifecycle import Lifecycle, Phase


def health_blueprint(lifecycle: Lifecycle) -> Blueprint:
    """`GET /healthz` (the process lives), `GET /readyz` (503 unless it takes statements)."""
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
