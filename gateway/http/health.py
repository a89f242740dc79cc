"""The page for people, and the two checks for operators: does it live, does it take work."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, Response, render_template

from gateway.http.readiness import EngineProbe
from gateway.lifecycle import Lifecycle, Phase
from gateway.release import VERSION

_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


def health_blueprint(lifecycle: Lifecycle) -> Blueprint:
    """`GET /`, `GET /healthz` (the process lives), `GET /readyz` (503 unless it takes statements)."""
    routes = Blueprint("health", __name__, template_folder="templates")
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

    @routes.get("/")
    def page() -> Response:
        response = Response(
            render_template("index.html", phase=lifecycle.phase, ports=lifecycle.ports, version=VERSION)
        )
        response.headers["Content-Security-Policy"] = _PAGE_POLICY
        return response

    return routes
