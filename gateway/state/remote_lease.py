"""A gateway's lease in an object store: objects with ascending numbers, each created only if it is absent.

    leases/<gateway>-<number>.json    the state that the gateway shows to the others, see `Shown`

The owner renews its lease by the next number, and deletes the former one. Another gateway takes it over in the same way
(`Shown.taker`), so only one of the two can succeed, and the other learns it. The taker leaves its object for
`TOMBSTONE_S` seconds, and deletes the owner's last one. An owner that was suspended for longer may find its next number
free, but its last object missing.
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from catalog.conditions import StateLost
from catalog.store.files import Files
from gateway.state.addresses import Address

logger = logging.getLogger(__name__)

# Intervals in seconds in which a lease is renewed, and in which the others' are read.
RENEWED_EVERY_S, READ_EVERY_S = 2.0, 1.0
LEASE_S = 10.0
TOMBSTONE_S = 60.0
LEASES = "leases"


class Shown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A lease's object. `gateways` are the former owners of sessions that the gateway has taken over, `counts` its
    running statements by group, and `held_bytes` the size of its records.
    """

    token: str
    # The machine since its last start, and the gateway's address there.
    machine: str = ""
    address: Address | None = None
    counts: dict[str, int] = {}
    held_bytes: int = 0
    gateways: tuple[str, ...] = ()
    is_released: bool = False
    # The gateway that has taken the sessions over, and if it has all of them.
    taker: str | None = None
    is_taken: bool = False


_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Shown] = msgspec.json.Decoder(Shown)


def lease_path(name: str, number: int) -> str:
    """Returns the path of a gateway's lease object; numbers have 12 digits, so that listings are in their order."""
    return f"{LEASES}/{name}-{number:012}.json"


def create_lease(files: Files, name: str, number: int, shown: Shown) -> bool:
    """Creates a lease's object; returns False if another gateway has created it. Raises OSError."""
    path = lease_path(name, number)
    # A repeated request finds the object of the first one, whose response was lost.
    return files.create(path, _ENCODER.encode(shown)) or read_lease(files, name, number).token == shown.token


def read_lease(files: Files, name: str, number: int) -> Shown:
    """Returns a lease's object. Raises FileNotFoundError, OSError."""
    content = files.read(lease_path(name, number))
    try:
        return _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise OSError(f"{lease_path(name, number)}: {error}") from error


def machine_name() -> str:
    """Returns a name that no other machine or container has, nor this one after its next start; empty if unknown."""
    try:
        return f"{socket.gethostname()} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"
    except OSError:
        return ""


def new_token() -> str:
    """Returns a random token of 64 bits, in hexadecimal, which distinguishes processes of one gateway name."""
    return secrets.token_hex(8)


def now_s() -> float:
    """Returns seconds that also pass while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(slots=True)
class RemoteLease:
    """A process's ownership of the sessions of gateway `name`. Thread-safe; call `release` at the end.

    `on_lost` is called, on a thread, when another process has taken the sessions over, and `on_beat` every
    `READ_EVERY_S` seconds. `shown` may be replaced at any time; the next renewal writes it.
    """

    files: Files
    name: str
    folder: Path
    on_lost: Callable[[], None]
    on_beat: Callable[[], None]
    shown: Shown
    number: int = 1
    _renewed: float = field(default_factory=now_s)
    _is_lost: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread that renews the lease."""
        self._thread = threading.Thread(target=self._beat, name="state-lease", daemon=True)
        self._thread.start()

    @property
    def is_released(self) -> bool:
        """Returns True after `release`."""
        return self._ending.is_set()

    def ensure_held(self) -> None:
        """Raises `StateLost` if another process may own the sessions. Cheap while the lease was renewed recently."""
        if self._ending.is_set():
            raise StateLost()
        if now_s() - self._renewed > LEASE_S / 2 and not self.renew():
            if self._is_lost:
                self.on_lost()
            raise StateLost()

    def renew(self) -> bool:
        """Writes the next object; returns False if the lease is lost, or the store does not respond."""
        with self._lock:
            if self._is_lost:
                return False
            # Read before the request: a process that is suspended during it must not count the time as valid.
            now = now_s()
            try:
                is_made = create_lease(self.files, self.name, self.number + 1, self.shown)
                if is_made and now - self._renewed > LEASE_S / 2:
                    self.files.read(lease_path(self.name, self.number))
            except FileNotFoundError:
                is_made = False
            except OSError as error:
                logger.warning("the lease in the state folder cannot be renewed: %s", error)
                return False
            if not is_made:
                self._is_lost = True
                return False
            former, self.number, self._renewed = self.number, self.number + 1, now
        try:
            self.files.delete(lease_path(self.name, former))
        except OSError as error:
            logger.info("a former lease stays in the state folder: %s", error)
        return True

    def release(self, *, removes: bool) -> None:
        """Stops renewing, and shows it to the others; with `removes` there is nothing that they could take over."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if not removes:
                released = msgspec.structs.replace(self.shown, is_released=True, address=None)
                create_lease(self.files, self.name, self.number + 1, released)
            self.files.delete(lease_path(self.name, self.number))
        except OSError as error:  # the others take over when the lease has expired
            logger.warning("the lease in the state folder is not released: %s", error)

    def _beat(self) -> None:
        while not self._ending.wait(READ_EVERY_S):
            if now_s() - self._renewed >= RENEWED_EVERY_S - READ_EVERY_S / 2:
                self.renew()
            if self._is_lost:
                logger.error("another gateway has taken over this gateway's sessions")
                self.on_lost()
                return
            try:
                self.on_beat()
            except Exception:  # the next beat repeats it
                logger.warning("the other gateways' leases cannot be read", exc_info=True)
