"""Where Databricks' clients get their tokens: they ask this server, and are sent to its identity provider."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint, request

from gateway.authenticators.issuer import Endpoints


def discovery_blueprint(endpoints: Endpoints, public_url: str) -> Blueprint:
    """`public_url` is that of this server, if it is known; else it is the one that the client asked."""
    routes = Blueprint("discovery", __name__)

    @routes.get("/.well-known/databricks-config")
    def configuration() -> dict[str, Any]:
        return {"oidc_endpoint": f"{public_url or request.root_url.rstrip('/')}/oidc"}

    @routes.get("/oidc/.well-known/oauth-authorization-server")
    def authorization_server() -> dict[str, Any]:
        return asdict(endpoints)

    return routes
