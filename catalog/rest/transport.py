"""Requests to a REST catalog: JSON out, JSON in, within limits of time and size.

A read, or the request for a token, is cut off where the statement that waits for it is cancelled
(`catalog.store.interruption`), once it is connected.
No redirect is followed, since the token would be shown to where it leads. What failed without an answer is told apart
from what was answered: of a request that changes something, nobody knows whether it was carried out.

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
from catalog.store.interruption import held, interruptible

ANSWER_BYTES_MAX = 256 << 20
"""Of metadata, which names every snapshot of a table."""
_SLOW = 4
"""How many times as long as its beginning an answer may take as a whole."""
_EARLY_S = 60.0
"""A token is asked for again so long before it ends."""
_TOKEN_S = 3600.0
"""How long a token is good for that does not say it."""
SILENT_S = 5.0
"""A catalog that did not answer is not asked for so long: statements about many catalogs would wait each time."""
Json = Mapping[str, Any]

for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # they log URLs and headers


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is empty where the answer has none, or none that is an object."""

    status: int
    body: Json = field(repr=False)
    etag: str | None = None
    size: int = 0
    """Of the text, in bytes."""
    retry_after_s: float = 0.0
    """When the catalog wants to be asked again, in seconds from now."""

    @property
    def reason(self) -> str:
        """What the catalog says of an error."""
        text = _message(self.body)
        return f"status {self.status}, {text[:300]}" if text else f"status {self.status}"


def _message(body: Json) -> str:
    error = body.get("error")
    text = error.get("message") if isinstance(error, Mapping) else None
    return str(text or "")


class NoAnswer(Exception):
    """The connection failed, or took too long. `was_sent`: the catalog may have got the request."""

    def __init__(self, reason: str, *, was_sent: bool) -> None:
        super().__init__(reason)
        self.was_sent = was_sent


class AnswerTooLong(NoAnswer):
    """The request was answered, with more than is read; another attempt would have the same answer."""


class _Line:
    """The connection of a request that a thread waits for; another thread may cut it off, also before it is there."""

    def __init__(self) -> None:
        self._connections: list[socket.socket] = []
        self._is_cut = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpcore with its events."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._connections.append(info["return_value"].get_extra_info("socket"))
            if self._is_cut:
                self.cut()

    def cut(self) -> None:
        self._is_cut = True  # before it looks for connections, as `trace` looks for it after it has added one
        for each in self._connections:
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # TLS would say goodbye first


class Transport:
    """Thread-safe; `clock` is in seconds."""

    def __init__(self, options: RestOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._options, self._clock = options, clock
        self._client = httpx.Client(
            verify=ssl.create_default_context(cafile=options.ca_file or None),
            timeout=options.timeout_s,
            limits=httpx.Limits(max_keepalive_connections=0),  # an idle one may end as a change is sent over it
            headers={"Accept-Encoding": "identity"},  # the limit of bytes is that of what is received
        )
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
        self._lock = threading.Lock()
        self._token, self._token_ends = options.token, float("inf")
        self._no_token_until, self._no_token = 0.0, ""
        secrets = (options.token, options.credential, options.credential.rpartition(":")[2])
        self._secrets = tuple(filter(None, secrets))

    def send(
        self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """`path` is behind the catalog's URI. Raises `NoAnswer`, and `RestCatalogRefused` or `RestCatalogNotAvailable`
        where the catalog did not take the credentials.
        """
        url = f"{self._options.uri.rstrip('/')}/{path}"
        data = None if body is None else json.dumps(body).encode()
        if self._options.problem:
            raise RestCatalogNotAvailable(self._options.name, self._options.problem)
        own = {**dict(self._options.headers), "Accept": "application/json", "Content-Type": "application/json"}
        own.update(headers or {})
        changes = method != "GET"
        answer = self._ask(method, url, data, {**own, **self._authorization()}, changes=changes)
        if answer.status == HTTPStatus.UNAUTHORIZED and self._options.credential:
            self._forget_token()
            answer = self._ask(method, url, data, {**own, **self._authorization()}, changes=changes)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise RestCatalogRefused(self._options.name, f"it does not know the credentials ({answer.reason})")
        return answer

    def _ask(self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], *, changes: bool) -> Answer:
        if changes:
            return self._answered(method, url, data, headers)
        line = _Line()
        with interruptible(line.cut):
            return self._answered(method, url, data, headers, line)

    def _answered(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], line: _Line | None = None
    ) -> Answer:
        traced = {"trace": line.trace} if line else {}
        try:
            with self._client.stream(method, url, content=data, headers=headers, extensions=traced) as response:
                return self._answer(response)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            was_sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise NoAnswer(self._shown(f"{type(error).__name__}: {error}")[:300], was_sent=was_sent) from None

    def _shown(self, text: str) -> str:
        """Without what was sent to the catalog that nobody else may see, which it may repeat in its answer."""
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
            found = {"error": {"message": self._shown(_message(found))}}
        later = response.headers.get("Retry-After", "")
        wait_s = float(later) if later.isascii() and later.isdigit() else 0.0
        return Answer(response.status_code, found, response.headers.get("ETag"), len(data), wait_s)

    def _content(self, response: httpx.Response) -> bytes:
        """All of an answer, within a time: a socket's own limit begins again with each piece.

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
        with held(self._lock):  # one of those who wait asks
            if not self._token or self._clock() >= self._token_ends:
                self._token, lasts_s = self._asked_token()
                self._token_ends = self._clock() + max(lasts_s - _EARLY_S, lasts_s / 2)
            return {"Authorization": f"Bearer {self._token}"}

    def _asked_token(self) -> tuple[str, float]:
        """As `_new_token`. Where no token was given out, it is not asked for again at once."""
        if self._clock() < self._no_token_until:
            raise RestCatalogNotAvailable(self._options.name, self._no_token)
        try:
            return self._new_token()
        except RestCatalogNotAvailable as error:
            self._no_token_until, self._no_token = self._clock() + SILENT_S, error.reason
            raise

    def _forget_token(self) -> None:
        with held(self._lock):
            self._token = ""

    def _new_token(self) -> tuple[str, float]:
        """By the client's id and secret; and how long it is good for, in seconds."""
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
