"""Browser login, and identity provider discovery for Databricks' clients.

`/login` requests user and password, and redirects to the console; `/logout` ends the login. The parameter `next` is the
page to return to. It is relative to this server's root, so that no link can redirect to another site. Databricks'
clients request the token endpoints from this server, which refers them to its identity provider.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, render_template, request
from werkzeug.exceptions import NotFound

from catalog.conditions import CredentialsRefused, UnsupportedMediaType
from catalog.errors import SqlError
from gateway.authenticators.issuer import Endpoints
from gateway.http.callers import Callers
from gateway.observability.status import describe

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_FORM = "application/x-www-form-urlencoded"
# A path below the root, a query and a fragment; without a scheme, a host, `..` and a leading slash.
_NEXT = re.compile(r"(\w[\w.~-]*(/\w[\w.~-]*)*/?)?(\?[!$-;=?-\[\]-~]*)?(#[!#-;=?-\[\]-~]*)?", re.ASCII)
_NEXT_MAX = 1500


def log_in_blueprint(callers: Callers) -> Blueprint:
    routes = Blueprint("log_in", __name__, template_folder="templates")

    def page(
        *, principal: str = "", error: SqlError | None = None, status: HTTPStatus = HTTPStatus.OK, root: str = ""
    ) -> Response:
        nonce = secrets.token_urlsafe(16)
        text = render_template(
            "log_in.html",
            nonce=nonce,
            root=root,
            next=_next_page(),
            principal=principal if callers.has_logins else "",
            has_logins=callers.has_logins,
            message=_plain_text(error) if error else "",
        )
        answer = Response(text, status, content_type="text/html; charset=utf-8")
        answer.headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
        return answer

    @routes.get("/login")
    def show() -> Response:
        try:
            principal = callers.identity().principal
        except SqlError as error:
            return page(error=None if callers.has_logins else error)
        return page(principal=principal)

    @routes.post("/login")
    def log_in() -> Response:
        if request.mimetype != _FORM:
            raise UnsupportedMediaType(request.mimetype or "of no stated type")
        try:
            cookie = callers.log_in(request.form.get("user", ""), request.form.get("password", ""))
        except SqlError as error:
            return page(error=error, status=describe(error).http_status)
        return _redirect(f"./{_next_page()}", cookie)

    @routes.post("/logout")
    def log_out() -> Response:
        return _redirect("login", callers.log_out())

    return routes


def _next_page() -> str:
    """Returns the page to return to, relative to the root; empty for the console, and for an invalid one."""
    found = request.values.get("next", "")
    return found if len(found) <= _NEXT_MAX and _NEXT.fullmatch(found) else ""


def _plain_text(error: SqlError) -> str:
    if isinstance(error, CredentialsRefused):
        return "The user name or password is wrong."
    return error.full_message


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
