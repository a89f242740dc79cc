"""Logins with a cookie in an object store: an object for each, whose name has the login's last use.

    log-ins/<name>@<second>    a login, as `log_ins.py` writes it; a use creates another object and removes this one

A listing, which is valid for `LISTED_S` seconds, has the last uses of all of them. A logout at another gateway takes
effect after that time.
"""

from __future__ import annotations

import logging
import threading
import time

import msgspec

from catalog.store.files import Files
from engine.runtime.identity import Identity
from gateway.state.log_ins import LIFETIME_S, SavedLogIn, new_log_in

logger = logging.getLogger(__name__)

LISTED_S = 5.0
# The same for a cookie that is not listed: it may be new, or made up.
UNKNOWN_S = 0.1
_FOLDER = "log-ins"


class RemoteLogIns:
    """The logins of all gateways. Thread-safe."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._listed: float | None = None
        # Last uses, in seconds since the epoch.
        self._uses: dict[str, int] = {}

    def write(self, name: str, identity: Identity, peer: str, until: float, id_token: str | None) -> bool:
        """Writes a login; returns False if it is known to this gateway alone."""
        content, now = msgspec.json.encode(new_log_in(identity, peer, until, id_token)), int(time.time())
        try:
            self._files.create(_path(name, now), content)
        except OSError as error:
            logger.warning("a login is not known to other gateways: %s", error)
            return False
        with self._lock:
            self._uses[name] = now
        return True

    def read(self, name: str) -> SavedLogIn | None:
        """Returns a login; None if there is none."""
        try:
            content = self._read(name)
            return None if content is None else msgspec.json.decode(content, type=SavedLogIn)
        except (OSError, msgspec.MsgspecError):
            return None

    def _read(self, name: str) -> bytes | None:
        """Returns a login's content; None if there is none. Raises OSError."""
        if (used := self._uses.get(name)) is None:
            return None
        try:
            return self._files.read(_path(name, used))
        except FileNotFoundError:  # another gateway has recorded a later use, or the end
            with self._lock:
                self._list()
        return None if (used := self._uses.get(name)) is None else self._files.read(_path(name, used))

    def last_used(self, name: str) -> float | None:
        """Returns when the login was used at any gateway, in seconds since the epoch; None if it has ended."""
        with self._lock:
            now = time.monotonic()
            valid_s = LISTED_S if name in self._uses else UNKNOWN_S
            if self._listed is None or now - self._listed > valid_s:
                try:
                    self._list()
                    self._listed = now
                except OSError as error:  # the former listing is used
                    logger.warning("the logins at other gateways cannot be listed: %s", error)
            return self._uses.get(name)

    def use(self, name: str) -> None:
        """Records that the login is used now."""
        used, now = self._uses.get(name), int(time.time())
        if used is None or used >= now:
            return
        try:
            self._files.create(_path(name, now), self._files.read(_path(name, used)))
            self._files.delete(_path(name, used))
        except OSError as error:
            logger.info("the use of a login is not recorded: %s", error)
            return
        with self._lock:
            if name in self._uses:
                self._uses[name] = now

    def remove(self, name: str) -> None:
        """Ends the login at all gateways."""
        try:
            for path in self._files.names(_FOLDER):
                if path.startswith(f"{name}@"):
                    self._files.delete(f"{_FOLDER}/{path}")
        except OSError as error:
            logger.error("a login stays valid at other gateways until it expires: %s", error)
        with self._lock:
            self._uses.pop(name, None)

    def _list(self) -> None:
        uses: dict[str, int] = {}
        for path in self._files.names(_FOLDER):
            name, _, second = path.rpartition("@")
            if second.isdigit() and time.time() - int(second) > LIFETIME_S:
                self._files.delete(f"{_FOLDER}/{path}")
            elif second.isdigit():
                uses[name] = max(uses.get(name, 0), int(second))
        self._uses = uses


def _path(name: str, second: int) -> str:
    return f"{_FOLDER}/{name}@{second}"
