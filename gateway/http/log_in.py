"""Browser login, and identity provider discovery for Databricks' clients.

`/login` requests user and password, and redirects to the console; `/logout` ends the login. Databricks' clients request
the token endpoints from this server, which refers them to its identity provider.
"""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from http import HTTPStatus
from importlib.resources import files
from string import Template
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

from catalog.conditions import UnsupportedMediaType
from catalog.errors import SqlError
from gateway.authenticators.issuer import Endpoints
from gateway.http.callers import Callers
from gateway.observability.status import describe

_PAGE = Template(files("gateway.http").joinpath("log_in.html").read_text(encoding="utf-8"))
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
_FORM = "application/x-www-form-urlencoded"


def log_in_blueprint(callers: Callers) -> Blueprint:
    routes = Blueprint("log_in", __name__)

    @routes.get("/login")
    def show() -> Response:
        try:
            principal = callers.identity().principal
        except SqlError:
            return _page("log-in")
        return _page("log-out", principal=principal)

    @routes.post("/login")
    def log_in() -> Response:
        if request.mimetype != _FORM:
            raise UnsupportedMediaType(request.mimetype or "of no stated type")
        try:
            cookie = callers.log_in(request.form.get("user", ""), request.form.get("password", ""))
        except SqlError as error:
            failure = describe(error)
            return _page("log-in", status=failure.http_status, message=error.full_message)
        return _redirect(".", cookie)

    @routes.post("/logout")
    def log_out() -> Response:
        return _redirect("login", callers.log_out())

    return routes


def _page(kind: str, *, principal: str = "", message: str = "", status: HTTPStatus = HTTPStatus.OK) -> Response:
    text = _PAGE.substitute(kind=kind, principal=escape(principal), message=escape(message))
    answer = Response(text, status, content_type="text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] = _POLICY
    return answer


def _redirect(to: str, cookie: str) -> Response:
    return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": to, "Set-Cookie": cookie})


def discovery_blueprint(endpoints: Endpoints | None, public_url: str) -> Blueprint:
    """Creates the discovery routes; `public_url` is this server's URL, if known; else the requested one is used.

    Databricks' SDKs request the first route before anything else, and log a warning if it does not exist. Without an
    identity provider (`endpoints` None) it announces none.
    """
    routes = Blueprint("discovery", __name__)

    @routes.get("/.well-known/databricks-config")
    def configuration() -> dict[str, Any]:
        if endpoints is None:
            return {}
        return {"oidc_endpoint": f"{public_url or request.root_url.rstrip('/')}/oidc"}

    @routes.get("/oidc/.well-known/oauth-authorization-server")
    def authorization_server() -> dict[str, Any]:
        if endpoints is None:
            raise NotFound()
        return asdict(endpoints)

    return routes
