"""Serves the console: `/` is its page, `/console/<file>` its resources. It is built with the package.

The page runs no inline script and loads only resources from this server (Content-Security-Policy). The editor's library
creates its style sheet at run time, for which each response has its own nonce. A browser without a login is redirected
to `/login`. File names contain their content's digest, so browsers may cache them. If the console was not built, `/` is
the page that shows how to connect, as `/connect` always is.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from urllib.parse import quote, urlsplit

from flask import Blueprint, Response, render_template, request
from werkzeug.exceptions import NotFound

from catalog.errors import SqlError
from gateway.http.callers import Callers
from gateway.lifecycle import Lifecycle
from gateway.release import VERSION

_CONNECT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; frame-ancestors 'none'; base-uri 'none'"
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_PAGE = "index.html"
_CACHE_HEADER = "public, max-age=31536000, immutable"


def load_console() -> Mapping[str, bytes]:
    """Returns the console's files by name; empty if it was not built."""
    folder = files("gateway.http.console").joinpath("dist")
    if not folder.joinpath(_PAGE).is_file():
        return {}
    names = (file.name for file in folder.iterdir())
    return {name: folder.joinpath(name).read_bytes() for name in names if name.rpartition(".")[2] in ("html", *_TYPES)}


def console_blueprint(
    lifecycle: Lifecycle, callers: Callers, console: Mapping[str, bytes], public_url: str = ""
) -> Blueprint:
    """Creates `GET /`, `GET /connect` and `GET /console/<file>`; `console` has the files by name.

    The page about connections shows the address by which the browser reached the server, or `public_url`.
    """
    routes = Blueprint("console", __name__, template_folder="templates")

    @routes.get("/connect")
    def connect() -> Response:
        url = public_url or request.root_url.rstrip("/")
        address = urlsplit(url)
        is_secure = address.scheme == "https"
        nonce = secrets.token_urlsafe(16)
        page = Response(
            render_template(
                "index.html",
                phase=lifecycle.phase,
                ports=lifecycle.ports,
                version=VERSION,
                url=url,
                host=address.hostname,
                http_port=address.port or (443 if is_secure else 80),
                is_secure=is_secure,
                has_logins=callers.has_logins,
                nonce=nonce,
            )
        )
        page.headers["Content-Security-Policy"] = _CONNECT_POLICY.format(nonce=nonce)
        return page

    @routes.get("/")
    def show() -> Response:
        if _PAGE not in console:
            return connect()
        try:
            callers.identity()
        except SqlError:
            query = request.query_string.decode("latin-1")
            after = f"?next={quote(f'?{query}')}" if query else ""
            return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": f"login{after}"})
        nonce = secrets.token_urlsafe(16)
        content = _with_values(console[_PAGE], nonce=nonce, logins="yes" if callers.has_logins else "no")
        page = Response(content, content_type="text/html; charset=utf-8")
        page.headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
        page.headers["Referrer-Policy"] = "no-referrer"
        return page

    @routes.get("/console/<name>")
    def part(name: str) -> Response:
        if name == _PAGE or name not in console:
            raise NotFound()
        answer = Response(console[name], content_type=_TYPES[name.rpartition(".")[2]])
        answer.headers["Cache-Control"] = _CACHE_HEADER
        return answer

    return routes


def _with_values(page: bytes, **values: str) -> bytes:
    for name, value in values.items():
        page = page.replace(b"{%s}" % name.encode(), value.encode())
    return page
