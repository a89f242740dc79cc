"""Requests to a REST catalog: JSON in both directions, with limits on time and size.

A connected read or token request is cut off when the waiting statement is cancelled (`catalog.store.interruption`).
Redirects are not followed, since the token would be sent to their target. A failure without a response is distinct from
an error response: for a change, it means that the outcome is unknown.

Source: Iceberg REST catalog, "Authentication", "Error responses"; RFC 6749, "Client Credentials Grant".
"""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlencode

import httpx

from catalog.conditions import RestCatalogNotAvailable, RestCatalogRefused
from catalog.rest.options import RestOptions
from catalog.store.interruption import hold_lock, interruptible

# Maximum size for metadata, which lists every snapshot.
ANSWER_BYTES_MAX = 256 << 20
# Maximum duration for a whole response, as a multiple of the timeout for its beginning.
_SLOW = 4
# Time in seconds before its expiry at which a token is renewed.
_EARLY_S = 60.0
# Lifetime in seconds for a token without one.
_TOKEN_S = 3600.0
# Time in seconds without requests after a catalog did not respond: statements over many catalogs would wait each time.
SILENT_S = 5.0
Json = Mapping[str, Any]

for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # they log URLs and headers


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; `body` is empty if it contains no JSON object."""

    status: int
    body: Json = field(repr=False)
    etag: str | None = None
    # Size of the text, in bytes.
    size: int = 0
    # The catalog's Retry-After, in seconds from now.
    retry_after_s: float = 0.0

    @property
    def reason(self) -> str:
        """Returns the catalog's description of an error."""
        text = _message(self.body)
        return f"status {self.status}, {text[:300]}" if text else f"status {self.status}"


def _message(body: Json) -> str:
    error = body.get("error")
    text = error.get("message") if isinstance(error, Mapping) else None
    return str(text or "")


class NoAnswer(Exception):
    """The connection failed or timed out. `was_sent`: the catalog may have received the request."""

    def __init__(self, reason: str, *, was_sent: bool) -> None:
        super().__init__(reason)
        self.was_sent = was_sent


class AnswerTooLong(NoAnswer):
    """The response exceeds the size limit; a retry would return the same response."""


class _Line:
    """The connection for a thread's request; another thread may cut it off, even before it exists."""

    def __init__(self) -> None:
        self._connections: list[socket.socket] = []
        self._is_cut = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Receives httpcore's trace events."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._connections.append(info["return_value"].get_extra_info("socket"))
            if self._is_cut:
                self.cut()

    def cut(self) -> None:
        self._is_cut = True  # before looking for connections, because `trace` checks the flag after it has added one
        for each in self._connections:
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # TLS would send close_notify first


class Transport:
    """A thread-safe HTTP transport; `clock` is in seconds."""

    def __init__(self, options: RestOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options, self._clock = options, clock
        self._client = httpx.Client(
            verify=ssl.create_default_context(cafile=options.ca_file or None),
            timeout=options.timeout_s,
            # an idle connection may close while a change is sent on it
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={"Accept-Encoding": "identity"},  # the size limit applies to received bytes
        )
        # One client serves all statements: a cookie from one response must not be sent with
        # the next request.
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self._lock = threading.Lock()
        self._token, self._token_ends = options.token, float("inf")
        self._no_token_until, self._no_token = 0.0, ""
        secrets = (options.token, options.credential, options.credential.rpartition(":")[2])
        self._secrets = tuple(filter(None, secrets))

    def send(
        self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Sends a request; `path` is relative to the catalog's URI. Raises `NoAnswer`, and `RestCatalogRefused` or
        `RestCatalogNotAvailable` if the catalog rejected the credentials.
        """
        url = f"{self._options.uri.rstrip('/')}/{path}"
        data = None if body is None else json.dumps(body).encode()
        if self._options.problem:
            raise RestCatalogNotAvailable(self._options.name, self._options.problem)
        own = {**dict(self._options.headers), "Accept": "application/json", "Content-Type": "application/json"}
        own.update(headers or {})
        changes = method != "GET"
        answer = self._ask(method, url, data, {**own, **self._authorization()}, changes=changes)
        # The token may have been revoked early, or the catalog restarted with another key.
        # A request that was refused changed nothing, so it can be sent again.
        if answer.status == HTTPStatus.UNAUTHORIZED and self._options.credential:
            self._forget_token()
            answer = self._ask(method, url, data, {**own, **self._authorization()}, changes=changes)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise RestCatalogRefused(self._options.name, f"it does not know the credentials ({answer.reason})")
        return answer

    def _ask(self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], *, changes: bool) -> Answer:
        # A change is never cut off: its outcome would be unknown for nothing.
        if changes:
            return self._exchange(method, url, data, headers)
        line = _Line()
        with interruptible(line.cut):
            return self._exchange(method, url, data, headers, line)

    def _exchange(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], line: _Line | None = None
    ) -> Answer:
        traced = {"trace": line.trace} if line else {}
        try:
            with self._client.stream(method, url, content=data, headers=headers, extensions=traced) as response:
                return self._answer(response)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            was_sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise NoAnswer(self._without_secrets(f"{type(error).__name__}: {error}")[:300], was_sent=was_sent) from None

    def _without_secrets(self, text: str) -> str:
        """Returns an error text with the secrets removed that were sent to the catalog, since it may repeat them."""
        for secret in (*self._secrets, self._token):
            text = text.replace(secret, "***") if secret else text
        return text

    def _answer(self, response: httpx.Response) -> Answer:
        data = self._content(response)
        try:
            body = json.loads(data) if data else {}
        except (ValueError, RecursionError):
            body = {}
        found = body if isinstance(body, dict) else {}
        if response.is_error:
            found = {"error": {"message": self._without_secrets(_message(found))}}
        later = response.headers.get("Retry-After", "")
        wait_s = float(later) if later.isascii() and later.isdigit() else 0.0
        return Answer(response.status_code, found, response.headers.get("ETag"), len(data), wait_s)

    def _content(self, response: httpx.Response) -> bytes:
        """Returns the whole response body within a time limit, because a socket's own timeout restarts with each piece.

        Raises `TimeoutError`, `AnswerTooLong`, `httpx.HTTPError`.
        """
        found, ends = bytearray(), self._clock() + _SLOW * self._options.timeout_s
        for piece in response.iter_raw():
            found += piece
            if len(found) > ANSWER_BYTES_MAX:
                raise AnswerTooLong(f"an answer has more than {ANSWER_BYTES_MAX} bytes", was_sent=True)
            if self._clock() > ends:
                raise TimeoutError("an answer comes too slowly")
        return bytes(found)

    # --- Tokens ---

    def _authorization(self) -> Mapping[str, str]:
        if not self._options.credential:
            return {"Authorization": f"Bearer {self._token}"} if self._token else {}
        with hold_lock(self._lock):  # only one waiting thread requests a token
            if not self._token or self._clock() >= self._token_ends:
                self._token, lasts_s = self._request_token()
                # Short-lived tokens are renewed at half of their life instead: a minute
                # before the end might be before their beginning.
                self._token_ends = self._clock() + max(lasts_s - _EARLY_S, lasts_s / 2)
            return {"Authorization": f"Bearer {self._token}"}

    def _request_token(self) -> tuple[str, float]:
        """Requests a token as `_new_token` does. After a failure, it is not requested again immediately."""
        if self._clock() < self._no_token_until:
            raise RestCatalogNotAvailable(self._options.name, self._no_token)
        try:
            return self._new_token()
        except RestCatalogNotAvailable as error:
            self._no_token_until, self._no_token = self._clock() + SILENT_S, error.reason
            raise

    def _forget_token(self) -> None:
        with hold_lock(self._lock):
            self._token = ""

    def _new_token(self) -> tuple[str, float]:
        """Requests a token by the client's id and secret; returns it with its lifetime in seconds."""
        client, _, secret = self._options.credential.rpartition(":")
        form = {"grant_type": "client_credentials", "client_secret": secret, "scope": self._options.scope}
        if client:
            form["client_id"] = client
        url = self._options.token_url or f"{self._options.uri.rstrip('/')}/v1/oauth/tokens"
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        try:
            answer = self._ask("POST", url, urlencode(form).encode(), headers, changes=False)
        except NoAnswer as error:
            raise RestCatalogNotAvailable(self._options.name, f"no token is given out ({error})") from error
        token, lasts = answer.body.get("access_token"), answer.body.get("expires_in")
        if answer.status != HTTPStatus.OK or not isinstance(token, str) or not token.isprintable():
            raise RestCatalogRefused(self._options.name, f"it gives out no token (status {answer.status})")
        return token, float(lasts) if isinstance(lasts, int | float) and lasts > 0 else _TOKEN_S
