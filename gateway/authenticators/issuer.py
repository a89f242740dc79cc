"""An identity provider: its metadata (OpenID Connect Discovery 1.0) and its signing keys (RFC 7517).

Both are fetched at startup, which fails without them. Keys are fetched again when they are :data:`REFRESH_S` old, and
when a token names an unknown key, but at most once per :data:`UNKNOWN_KEY_S` for all clients together, so that clients
cannot trigger arbitrarily many requests. While the provider is unreachable, the last keys are valid for a day. URLs in
a token are never followed; only the configured provider's URLs are used, over TLS and without redirects.
"""

from __future__ import annotations

import http.client
import json
import logging
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from catalog.conditions import IssuerUnusable
from catalog.rest.no_redirect import NoRedirect
from gateway.authenticators.peer import Peer

logger = logging.getLogger(__name__)

REFRESH_S, UNKNOWN_KEY_S, STALE_S = 60.0, 30.0, 86_400.0
# Per network operation, and for a whole response, because each received piece restarts the former.
_TIMEOUT_S, _RESPONSE_S = 5.0, 10.0
_BYTES_MAX = 1 << 20
_RSA_BITS_MIN = 2048

PublicKey = RSAKey | ECKey | OKPKey


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The provider's endpoints for tokens, returned to clients that request them."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str


class Issuer:
    """An identity provider. Thread-safe; `clock` is in seconds."""

    def __init__(self, issuer: str, *, ca_file: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """Fetches both documents. Raises :class:`IssuerUnusable`."""
        self._issuer = issuer
        self._clock = clock
        self._tls = ssl.create_default_context(cafile=ca_file or None)
        self._lock, self._metadata_lock = threading.Lock(), threading.Lock()
        self.metadata = self._fetch_metadata()
        self.endpoints = Endpoints(
            issuer=issuer,
            authorization_endpoint=str(self.metadata.get("authorization_endpoint", "")),
            token_endpoint=str(self.metadata.get("token_endpoint", "")),
        )
        self._keys_url = str(self.metadata.get("jwks_uri", ""))
        self._keys = self._fetch_keys()
        self._fetched = self._requested_at = clock()

    def key(self, key_id: str | None) -> PublicKey | None:
        """Returns the key with that id; the only key, if a token names none."""
        self._refresh(REFRESH_S)
        keys = self._newest_keys()
        if key_id is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        if key_id not in keys:
            self._refresh(UNKNOWN_KEY_S)
        return self._newest_keys().get(key_id)

    def refresh_metadata(self) -> None:
        """Fetches the metadata again, unless another caller does. Raises :class:`IssuerUnusable`."""
        if self._metadata_lock.acquire(blocking=False):
            try:
                self.metadata = self._fetch_metadata()
            finally:
                self._metadata_lock.release()

    def endpoint(self, name: str) -> str:
        """Returns a URL in the metadata, or an empty text. Raises :class:`IssuerUnusable` for a URL without TLS."""
        url = str(self.metadata.get(name) or "")
        if url:
            self._ensure_encrypted(url)
        return url

    def request(
        self, url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Sends a GET, or a POST with `form`, and returns the status and the JSON object of the response.

        Besides a success it may be 400 or 401, with an error of the token endpoint (RFC 6749, section 5.2). Raises
        `IssuerUnusable` for any other response, a redirect included, and after `_TIMEOUT_S` seconds.
        """
        self._ensure_encrypted(url)
        body = None if form is None else urlencode(form).encode()
        request = urllib.request.Request(url, body, {"Accept": "application/json", **(headers or {})})
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=self._tls), NoRedirect())
        try:
            try:
                answer = opener.open(request, timeout=_TIMEOUT_S)
            except urllib.error.HTTPError as error:
                if form is None or error.code not in (400, 401):
                    raise
                answer = error  # the token endpoint's own error (RFC 6749, section 5.2)
            with answer:
                document = json.loads(_read(answer))
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:
            raise IssuerUnusable(self._issuer, f"{url[:200]} does not answer as it should ({error})") from error
        if not isinstance(document, dict):
            raise IssuerUnusable(self._issuer, f"{url[:200]} is no JSON object")
        return answer.status or 0, document

    def _newest_keys(self) -> Mapping[str, PublicKey]:
        return self._keys if self._clock() - self._fetched < STALE_S else {}

    def _refresh(self, age_s: float) -> None:
        """Fetches the keys if they are older than `age_s`; one caller does, and the others continue."""
        if self._clock() - self._requested_at < age_s or not self._lock.acquire(blocking=False):
            return
        try:
            self._requested_at = self._clock()
            self._keys = self._fetch_keys()
            self._fetched = self._clock()
        except IssuerUnusable as error:
            logger.warning("the former keys stay in use: %s", error)
        finally:
            self._lock.release()

    def _fetch_keys(self) -> Mapping[str, PublicKey]:
        document = self._fetch(self._keys_url)
        try:
            public = _public(document)
            found = KeySet.import_key_set(public).keys if public["keys"] else []  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise IssuerUnusable(self._issuer, f"{self._keys_url} is no set of keys") from error
        keys = {str(key.kid): key for key in found if isinstance(key, PublicKey) and _is_strong(key)}
        if not keys:
            raise IssuerUnusable(self._issuer, f"{self._keys_url} has no key for signatures")
        return keys

    def _fetch_metadata(self) -> Mapping[str, Any]:
        metadata = self._fetch(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if metadata.get("issuer") != self._issuer:
            raise IssuerUnusable(self._issuer, f"its metadata is of the issuer {str(metadata.get('issuer'))[:200]!r}")
        return metadata

    def _fetch(self, url: str) -> dict[str, Any]:
        return self.request(url)[1]

    def _ensure_encrypted(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            is_encrypted = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
        except ValueError:  # an incomplete IPv6 address
            is_encrypted = False
        if not is_encrypted:
            raise IssuerUnusable(self._issuer, f"{url[:200]!r} is no https URL")


def _read(answer: http.client.HTTPResponse | urllib.error.HTTPError) -> bytes:
    """Returns a response's body; raises `ValueError` for a large one, and `TimeoutError` for a slow one."""
    found, ends = bytearray(), time.monotonic() + _RESPONSE_S
    while piece := answer.read1(_BYTES_MAX):
        found += piece
        if len(found) > _BYTES_MAX:
            raise ValueError(f"it is larger than {_BYTES_MAX} bytes")
        if time.monotonic() > ends:
            raise TimeoutError("it comes too slowly")
    return bytes(found)


def _public(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keys that can verify: without shared keys, encryption keys, and private parts."""
    members = ("kty", "kid", "use", "alg", "n", "e", "crv", "x", "y")
    return {
        "keys": [
            {name: key[name] for name in members if name in key}
            for key in document["keys"]
            if key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig" and key.get("kid")
        ]
    }


def _is_strong(key: PublicKey) -> bool:
    return not isinstance(key, RSAKey) or key.raw_value.key_size >= _RSA_BITS_MIN


def _is_loopback(host: str) -> bool:
    return host == "localhost" or Peer(host).is_loopback
