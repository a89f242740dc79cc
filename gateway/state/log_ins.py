"""Logins with a cookie, which all gateways accept: a file for each in `log-ins`, named by the cookie's digest.

The file's modification time is the login's last use. A login ends everywhere when its file is removed.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from engine.runtime.identity import Identity
from gateway.state.records import SavedIdentity, restored_identity, saved_identity

logger = logging.getLogger(__name__)

# No login is valid for longer after its last use.
LIFETIME_S = 24 * 3600.0
_SWEPT_EVERY = 100


class SavedLogIn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login; `until` is in seconds since the epoch."""

    saved_identity: SavedIdentity
    peer: str
    until: float
    id_token: str | None = None

    @property
    def identity(self) -> Identity:
        """Returns the identity at the login; it has to be checked against its method before use."""
        return restored_identity(self.saved_identity)


def new_log_in(identity: Identity, peer: str, until: float, id_token: str | None) -> SavedLogIn:
    """Returns the record of a login; `until` is in seconds since the epoch."""
    return SavedLogIn(saved_identity=saved_identity(identity), peer=peer, until=until, id_token=id_token)


class LogIns(Protocol):
    """The logins of all gateways; see `LogInFolder`. Thread-safe."""

    def write(self, name: str, identity: Identity, peer: str, until: float, id_token: str | None) -> bool:
        """Writes a login under the cookie's digest `name`; returns False if it is known to this gateway alone.

        `until` is in seconds since the epoch.
        """
        ...

    def read(self, name: str) -> SavedLogIn | None:
        """Returns a login; None if it does not exist or is not readable."""
        ...

    def last_used(self, name: str) -> float | None:
        """Returns the time of the last use at any gateway, in seconds since the epoch; None if the login has ended."""
        ...

    def use(self, name: str) -> None:
        """Records that the login is used now. Never raises."""
        ...

    def remove(self, name: str) -> None:
        """Ends the login at all gateways. Never raises."""
        ...


class LogInFolder:
    """The logins of all gateways. Thread-safe."""

    def __init__(self, state_folder: Path) -> None:
        """Opens the folder in the state folder, and creates it if necessary."""
        self._path = state_folder / "log-ins"
        self._path.mkdir(0o700, exist_ok=True)
        self._written = 0

    def write(self, name: str, identity: Identity, peer: str, until: float, id_token: str | None) -> bool:
        """Writes a login; returns False if it is known to this gateway alone."""
        if self._written % _SWEPT_EVERY == 0:
            self._remove_expired()
        self._written += 1
        saved = new_log_in(identity, peer, until, id_token)
        made = self._path / f".{uuid.uuid4().hex}"
        try:
            descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(msgspec.json.encode(saved))
            made.rename(self._path / name)
        except OSError as error:
            logger.warning("a login is not known to other gateways: %s", error)
            return False
        return True

    def read(self, name: str) -> SavedLogIn | None:
        """Returns a login; None if there is none."""
        try:
            return msgspec.json.decode((self._path / name).read_bytes(), type=SavedLogIn)
        except (OSError, msgspec.MsgspecError):
            return None

    def last_used(self, name: str) -> float | None:
        """Returns when the login was used at any gateway, in seconds since the epoch; None if it has ended."""
        try:
            return (self._path / name).stat().st_mtime
        except FileNotFoundError:
            return None

    def use(self, name: str) -> None:
        """Records that the login is used now."""
        with suppress(OSError):
            os.utime(self._path / name)

    def remove(self, name: str) -> None:
        """Ends the login at all gateways."""
        try:
            (self._path / name).unlink(missing_ok=True)
        except OSError as error:  # on a disk that has become read-only, for example
            logger.error("a login stays valid at other gateways until it expires: %s", error)

    def _remove_expired(self) -> None:
        for path in self._path.iterdir():
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > LIFETIME_S:
                    path.unlink()
