"""Signed links to volume files, which Databricks' drivers follow for PUT, GET and REMOVE, and to result parts.

    /api/2.0/fs/staged/<id>?expires=…&signature=…

A file link is for one user, one operation and one path, which the server stores under its id: the link reveals none of
them. The user's rights are checked again when it is followed.

Result chunk links need no credentials either: the holder may fetch that chunk until the link expires. Clients fetch
external links without their Authorization header, so the link itself grants access: its path and expiry are under an
HMAC (SHA-256) with a key that is created at startup and never leaves the server. File links are signed the same way.
Gateways with the same state folder share the key for results, so that each accepts the others' links.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from catalog.conditions import LinkRefused
from engine.runtime.identity import Identity
from engine.storage.volume_files import FileOperation, FileTransfer
from gateway.forwarding.signed_calls import CallSigner

STAGED = "/api/2.0/fs/staged/"
LINKS_MAX = 10_000

_METHODS = {FileOperation.GET: "GET", FileOperation.PUT: "PUT", FileOperation.REMOVE: "DELETE"}


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A link's purpose; `path` begins with /Volumes."""

    identity: Identity
    operation: FileOperation
    path: str
    overwrite: bool
    expires: int


class StagedLinks:
    """File links. Thread-safe. Beyond `LINKS_MAX` links the oldest is evicted."""

    def __init__(self, signer: LinkSigner) -> None:
        self._signer = signer
        self._files: OrderedDict[str, StagedFile] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, identity: Identity, transfer: FileTransfer) -> str:
        """Returns the signed path and query."""
        key = secrets.token_urlsafe(18)
        target, expires = self._signer.sign(STAGED + key)
        made = StagedFile(identity, transfer.operation, str(transfer.file.path), transfer.overwrite, expires)
        with self._lock:
            now = self._signer.clock()
            while self._files and (len(self._files) >= LINKS_MAX or next(iter(self._files.values())).expires <= now):
                self._files.popitem(last=False)
            self._files[key] = made
        return target

    def find(self, method: str, target: str) -> StagedFile:
        """Returns a link's purpose; raises `LinkRefused`."""
        path, _, query = target.partition("?")
        parameters = dict(parse_qsl(query))
        self._signer.ensure_valid(path, parameters.get("expires", ""), parameters.get("signature", ""))
        with self._lock:
            found = self._files.get(path.removeprefix(STAGED))
        if found is None:
            raise LinkRefused("has expired")
        if method != _METHODS[found.operation]:
            raise LinkRefused("is for another operation")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSigner:
    """Signs and verifies paths; `clock` is in seconds since the epoch."""

    lifetime_s: float
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time.time

    def sign(self, path: str) -> tuple[str, int]:
        """Returns `path` with its signature, and its expiry."""
        expires = int(self.clock() + self.lifetime_s)
        return f"{path}?expires={expires}&signature={self._signature(path, str(expires))}", expires

    def ensure_valid(self, path: str, expires: str, signature: str) -> None:
        """Raises :class:`LinkRefused` for an invalid or expired link."""
        expected = self._signature(path, expires)
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise LinkRefused("has a wrong signature")
        if self.clock() >= int(expires):  # signed, so it is a number
            raise LinkRefused("has expired")

    def _signature(self, path: str, expires: str) -> str:
        return hmac.new(self.key, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()


def link_signer(lifetime_s: float, shared: CallSigner | None) -> LinkSigner:
    """Returns the signer of links to results; its key follows from the one of `shared`."""
    if shared is None:
        return LinkSigner(lifetime_s=lifetime_s)
    return LinkSigner(lifetime_s=lifetime_s, key=shared.derived_key("links to results"))
