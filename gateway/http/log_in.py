"""Browser login, and identity provider discovery for Databricks' clients.

`/login` requests user and password, and redirects to the console; `/logout` ends the login. The parameter `next` is the
page to return to. It is relative to this server's root, so that no link can redirect to another site. Databricks'
clients request the token endpoints from this server, which refers them to its identity provider.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, render_template, request
from werkzeug.exceptions import NotFound

from catalog.conditions import CredentialsRefused, LogInNotAllowed, UnsupportedMediaType
from catalog.errors import SqlError
from gateway.authenticators.issuer import Endpoints
from gateway.authenticators.oidc import Oidc
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
_PLAIN_TEXTS: Mapping[type[SqlError], str] = {CredentialsRefused: "The user name or password is wrong."}


@dataclass(frozen=True, slots=True)
class LogInPage:
    """The login page, with a form for a password and a button for the identity provider, if they are configured."""

    callers: Callers
    oidc: Oidc | None = None

    def show(
        self, *, principal: str = "", error: SqlError | None = None, root: str = "", next_page: str = ""
    ) -> Response:
        """Returns the page; `root` is the relative URL of the server's root, if it is not the page's folder."""
        text = _PLAIN_TEXTS.get(type(error), error.full_message) if error else ""
        status = describe(error).http_status if error else HTTPStatus.OK
        # Otherwise the provider would log in the same user again at once.
        prompt = "prompt=login&" if isinstance(error, LogInNotAllowed) else ""
        return self._render(principal=principal, message=text, prompt=prompt, root=root, next=next_page, status=status)

    def forward(self, url: str, *cookies: str) -> Response:
        """Returns a page that leads to `url`.

        A redirect would not do: browsers send no cookie with SameSite=Strict after a redirect from another site, and
        `form-action` in the Content-Security-Policy forbids a form's redirect to one.
        """
        answer = self._render(forward=url)
        for cookie in cookies:
            answer.headers.add("Set-Cookie", cookie)
        return answer

    def _render(self, *, status: HTTPStatus = HTTPStatus.OK, **values: str) -> Response:
        nonce = secrets.token_urlsafe(16)
        has_logins = self.callers.has_logins
        values = {"root": "", "next": "", "nonce": nonce, **values}
        text = render_template(
            "log_in.html",
            has_logins=has_logins,
            label=self.oidc.policy.label if self.oidc else "",
            takes_passwords=self.oidc is None or self.oidc.has_passwords,
            **values,
        )
        answer = Response(text, status, content_type="text/html; charset=utf-8")
        answer.headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
        answer.headers["Referrer-Policy"] = "no-referrer"
        return answer


def log_in_blueprint(page: LogInPage, public_url: str) -> Blueprint:
    """Creates the login and logout routes; `public_url` is this server's URL, if known."""
    routes = Blueprint("log_in", __name__, template_folder="templates")
    callers, oidc = page.callers, page.oidc

    @routes.get("/login")
    def show() -> Response:
        next_page = valid_next_page(request.args.get("next", ""))
        try:
            identity = callers.identity()
        except SqlError as error:
            return page.show(error=None if callers.has_logins else error, next_page=next_page)
        return page.show(principal=identity.principal if callers.has_logins else "", next_page=next_page)

    @routes.post("/login")
    def log_in() -> Response:
        if request.mimetype != _FORM:
            raise UnsupportedMediaType(request.mimetype or "of no stated type")
        next_page = valid_next_page(request.form.get("next", ""))
        try:
            cookie = callers.log_in(request.form.get("user", ""), request.form.get("password", ""))
        except SqlError as error:
            return page.show(error=error, next_page=next_page)
        return _redirect(f"./{next_page}", cookie)

    @routes.post("/logout")
    def log_out() -> Response:
        cookie, id_token = callers.log_out()
        url = oidc.log_out_url(id_token, f"{root_url(public_url)}/login") if oidc and id_token else ""
        return page.forward(url, cookie) if url else _redirect("login", cookie)

    return routes


def root_url(public_url: str) -> str:
    """Returns the URL of the server's root as the browser knows it."""
    return public_url or request.root_url.rstrip("/")


def valid_next_page(page: str) -> str:
    """Returns a page to return to if it is relative to the root; empty for the console, and for any other page."""
    return page if len(page) <= _NEXT_MAX and _NEXT.fullmatch(page) else ""


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
        return {"oidc_endpoint": f"{root_url(public_url)}/oidc"}

    @routes.get("/oidc/.well-known/oauth-authorization-server")
    def authorization_server() -> dict[str, Any]:
        if endpoints is None:
            raise NotFound()
        return asdict(endpoints)

    return routes
