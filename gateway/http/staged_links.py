"""Links to files of volumes, which Databricks' drivers follow for PUT, GET and REMOVE.

    /api/2.0/fs/staged/<id>?expires=…&signature=…

A link is for one user, one operation and one path, which the server remembers under its id: the link shows nothing of
them. It is signed as links to results are (`links.py`). Who follows it is judged again by the rights of its user then.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from urllib.parse import parse_qsl

from catalog.conditions import LinkRefused
from engine.runtime.identity import Identity
from engine.storage.volume_files import FileOperation, FileTransfer
from gateway.http.links import LinkSigner

STAGED = "/api/2.0/fs/staged/"
LINKS_MAX = 10_000

_METHODS = {FileOperation.GET: "GET", FileOperation.PUT: "PUT", FileOperation.REMOVE: "DELETE"}


@dataclass(frozen=True, slots=True)
class StagedFile:
    """The purpose of a link; `path` begins with /Volumes."""

    identity: Identity
    operation: FileOperation
    path: str
    overwrite: bool
    expires: int


class StagedLinks:
    """Thread-safe. The oldest of more than `LINKS_MAX` links is forgotten."""

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
        """Raises `LinkRefused`."""
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
