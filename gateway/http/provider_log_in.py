"""Browser login at the identity provider: `/login/provider` redirects to it, and it redirects to `/login/callback`.

The login's secret is in a cookie for ten minutes. It is SameSite=Lax, because the provider's redirect is a navigation
from another site. The page to return to is in the cookie too, not in the provider's parameters.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from http import HTTPStatus

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

from catalog.errors import SqlError
from gateway.http.callers import peer_of_request
from gateway.http.log_in import LogInPage, root_url, valid_next_page

_NAME, _SECURE_NAME = "dgw-login", "__Host-dgw-login"
_LIFETIME_S = 600
_ROOT = "../"


def provider_blueprint(page: LogInPage, public_url: str) -> Blueprint:
    """Creates both routes; `public_url` is this server's URL, if known. Without a provider they do not exist."""
    routes = Blueprint("provider_log_in", __name__)
    callers, oidc = page.callers, page.oidc

    @routes.get("/login/provider")
    def begin() -> Response:
        if oidc is None:
            raise NotFound()
        next_page = valid_next_page(request.args.get("next", ""))
        try:
            is_other_user = request.args.get("prompt") == "login"
            url, secret = oidc.begin(_redirect_uri(public_url), peer_of_request(), is_other_user=is_other_user)
        except SqlError as error:
            return page.show(error=error, root=_ROOT, next_page=next_page)
        answer = Response(status=HTTPStatus.SEE_OTHER, headers={"Location": url, "Referrer-Policy": "no-referrer"})
        answer.headers["Set-Cookie"] = _cookie(
            f"{secret}.{urlsafe_b64encode(next_page.encode()).decode()}", _LIFETIME_S
        )
        return answer

    @routes.get("/login/callback")
    def finish() -> Response:
        if oidc is None:
            raise NotFound()
        secret, _, encoded = request.cookies.get(_name(), "").partition(".")
        next_page = _decode_next_page(encoded)
        ended = _cookie("", 0)
        uri = _redirect_uri(public_url)
        try:
            cookie = callers.log_in_by(lambda peer: oidc.finish(request.args, secret, uri, peer))
        except SqlError as error:
            answer = page.show(error=error, root=_ROOT, next_page=next_page)
            answer.headers["Set-Cookie"] = ended
            return answer
        return page.forward(f"{_ROOT}{next_page}", cookie, ended)

    return routes


def _redirect_uri(public_url: str) -> str:
    return f"{root_url(public_url)}/login/callback"


def _decode_next_page(encoded: str) -> str:
    try:
        return valid_next_page(urlsafe_b64decode(encoded).decode())
    except ValueError:  # includes decoding errors
        return ""


def _cookie(value: str, lifetime_s: int) -> str:
    secure = "; Secure" if request.is_secure else ""
    return f"{_name()}={value}; Path=/; Max-Age={lifetime_s}; HttpOnly; SameSite=Lax{secure}"


def _name() -> str:
    """Returns the cookie's name; browsers accept the prefix only over TLS."""
    return _SECURE_NAME if request.is_secure else _NAME
