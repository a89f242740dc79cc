"""A state folder in an object store: the content of `folder.py`, with put-if-absent as the only kind of write.

    format.json                         the format's version
    key                                 the key by which gateways sign the requests that they forward
    log-ins/                            logins with a cookie (`remote_log_ins.py`)
    leases/<gateway>-<number>.json      a gateway's lease (`remote_lease.py`)
    records/, results/                  the records of its sessions (`replica.py`)

A gateway has its sessions in a local folder, as on a disk, and stores the appended records. A take-over writes the
content of a gateway into such a folder. Ids of sessions begin with the id of the gateway that opened them, so that the
leases show the owner of each id without another request.

Requests in a minute: 30 to renew the lease, 60 to list the leases, 30 for each other gateway's lease, and those for
batches: at most 60 while no client waits for one, and at most 1,200 otherwise.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from catalog.conditions import StateFolderNotUsable, StateFormatNotSupported
from catalog.errors import SqlError
from catalog.store.remote import open_files
from engine.spool.private_folder import PrivateFolder
from gateway.state.addresses import Address
from gateway.state.folder import KEY_BYTES, SessionPlace
from gateway.state.positions import write_positions
from gateway.state.records import StatementClosed, StatementEnded, decode
from gateway.state.remote_lease import (
    LEASE_S,
    LEASES,
    READ_EVERY_S,
    RENEWED_EVERY_S,
    TOMBSTONE_S,
    RemoteLease,
    Shown,
    create_lease,
    lease_path,
    machine_name,
    new_token,
    now_s,
    read_lease,
)
from gateway.state.replica import (
    RECORDS,
    RESULTS,
    Replica,
    delete_result,
    download,
    parts_of,
    read_content,
)
from gateway.state.results import file_names
from gateway.state.running_counts import Counts

logger = logging.getLogger(__name__)

# A folder in an object store has no shared journals, which version 2 of a folder on a disk added.
FORMAT_VERSION = 1

_FORMAT, _KEY = "format.json", "key"
# Characters of a gateway's id, with which ids of its sessions begin.
_NAME_BYTES = 3
_OBJECT_NAME = re.compile(rf"([0-9a-f]{{{2 * _NAME_BYTES}}})-(\d{{12}})\.jsonl?")
_NAMES_TRIED_MAX = 10
# Minimum interval in seconds between listings for ids that no known gateway has.
_REFRESHED_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class _Seen:
    """A gateway's newest lease, and when it was seen first, as `now_s` returns it."""

    number: int
    since: float
    shown: Shown


class RemoteFolder:
    """A state folder in an object store, for one process. Thread-safe; call `close` at the end."""

    # A look at the leases that were read costs no request.
    beat_s, wait_s = READ_EVERY_S / 2, LEASE_S + RENEWED_EVERY_S + 3 * READ_EVERY_S

    def __init__(self, url: str, local_folder: str | None = None) -> None:
        """Opens the folder at `url`, and creates it if necessary; its local part is below `local_folder`.

        Raises `StateFolderNotUsable`, `StateFormatNotSupported` and errors of the store.
        """
        self.path = url
        self.files = open_files(url)
        # Guards the fields below.
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._refreshed = -_REFRESHED_EVERY_S
        # This process's gateway, and the local folder; None before `take_own`.
        self._lease: RemoteLease | None = None
        self.replica: Replica | None = None
        self._private: PrivateFolder | None = None
        self._local_folder = local_folder
        try:
            self._ensure_format()
            self.key = self._ensure_key()
        except OSError as error:
            raise StateFolderNotUsable(url, error.strerror or str(error)) from error

    def _ensure_format(self) -> None:
        self.files.create(_FORMAT, json.dumps({"version": FORMAT_VERSION}).encode())
        try:
            version = json.loads(self.files.read(_FORMAT))["version"]
        except (ValueError, KeyError, TypeError) as error:
            raise StateFolderNotUsable(f"{self.path}/{_FORMAT}", "it contains no format version") from error
        if version != FORMAT_VERSION:
            raise StateFormatNotSupported(self.path, str(version), FORMAT_VERSION)

    def _ensure_key(self) -> bytes:
        self.files.create(_KEY, secrets.token_bytes(KEY_BYTES))
        key = self.files.read(_KEY)
        if len(key) != KEY_BYTES:
            raise StateFolderNotUsable(f"{self.path}/{_KEY}", "it contains no valid key")
        return key

    def take_own(self, on_lost: Callable[[], None]) -> RemoteLease:
        """Creates this process's lease and its local folder."""
        try:
            self.refresh()
            name, shown = self._claimed_name()
        except OSError as error:
            raise StateFolderNotUsable(self.path, error.strerror or str(error)) from error
        self._private = PrivateFolder(self._local_folder)
        folder = self._private.path / name
        for path in (folder, folder / "sessions", folder / "results"):
            path.mkdir(0o700)
        self._lease = RemoteLease(self.files, name, folder, on_lost, self.refresh, shown)
        self.replica = Replica(self.files, name, folder)
        self._lease.start()
        return self._lease

    def _claimed_name(self) -> tuple[str, Shown]:
        for _ in range(_NAMES_TRIED_MAX):
            name, shown = secrets.token_hex(_NAME_BYTES), Shown(token=new_token(), machine=machine_name())
            if not self._owners(name) and create_lease(self.files, name, 1, shown):
                return name, shown
        raise OSError("no free name for a gateway was found")

    def session_prefix(self) -> bytes:
        """Returns the first bytes of ids of sessions."""
        return bytes.fromhex(self._own_name())

    def _own_name(self) -> str:
        return self._lease.name if self._lease is not None else ""

    def announce(self, _: Path, address: Address) -> None:
        """Shows other gateways where they can forward requests, at the next renewal, or at once for the first one."""
        lease = self._lease
        if lease is not None and lease.shown.address != address:
            lease.shown = msgspec.structs.replace(lease.shown, address=address)
            lease.renew()
            self.refresh()

    def exchange_counts(self, _: Path, counts: Counts, held_bytes: int) -> tuple[list[Counts], int]:
        """Shows other gateways the running statements by group and the size of the records, at the next renewal;
        returns the others' counts, and the sum of their sizes.
        """
        lease = self._lease
        if lease is not None:
            lease.shown = msgspec.structs.replace(lease.shown, counts=dict(counts), held_bytes=held_bytes)
        others = [seen.shown for seen in self._others()]
        return [shown.counts for shown in others], sum(shown.held_bytes for shown in others)

    def other_addresses(self, _: Path) -> list[Address]:
        """Returns the addresses of the other gateways that run."""
        return [seen.shown.address for seen in self._others() if seen.shown.address is not None]

    def _others(self) -> list[_Seen]:
        with self._lock:
            leases = list(self._seen.items())
        return [
            seen
            for name, seen in leases
            if name != self._own_name() and seen.shown.taker is None and not seen.shown.is_released
        ]

    def refresh(self) -> None:
        """Reads the leases that have changed, and removes leases that were taken over long ago. Raises OSError."""
        self._refreshed = now_s()
        newest: dict[str, int] = {}
        for name in self.files.names(LEASES):
            if match := _OBJECT_NAME.fullmatch(name):
                newest[match[1]] = max(newest.get(match[1], 0), int(match[2]))
        now, found = now_s(), dict[str, _Seen]()
        for name, number in newest.items():
            former = self._seen.get(name)
            if former is not None and former.number == number:
                found[name] = former
                continue
            if self._lease is not None and (name, number) == (self._lease.name, self._lease.number):
                found[name] = _Seen(number, now, self._lease.shown)
                continue
            with suppress(FileNotFoundError):  # it was renewed meanwhile, or has ended
                found[name] = _Seen(number, now, read_lease(self.files, name, number))
        with self._lock:
            self._seen = found
        for name, seen in found.items():
            if seen.shown.is_taken and now - seen.since > TOMBSTONE_S:
                self._delete_leases(name, seen.number)

    def locate(self, key: str, _: Path) -> SessionPlace | None:
        """Returns the gateway that may have the session; None if none has."""
        prefix = key[: 2 * _NAME_BYTES]
        owners = self._owners(prefix)
        is_over = self._lease is None or self._lease.is_released
        # A gateway that has just started may have it, or the one that has taken over this one's sessions.
        if (is_over or not owners) and now_s() - self._refreshed > _REFRESHED_EVERY_S:
            self.refresh()
            owners = self._owners(prefix)
        for name, seen in owners.items():
            if seen.shown.taker is None and name != self._own_name():
                return SessionPlace(seen.shown.address)
        return SessionPlace(None) if owners else None

    def owns(self, key: str) -> bool:
        """Returns True if no other gateway has the session, whether it is open or not."""
        lease, prefix = self._lease, key[: 2 * _NAME_BYTES]
        return lease is not None and (prefix == lease.name or prefix in lease.shown.gateways)

    def _owners(self, prefix: str) -> dict[str, _Seen]:
        with self._lock:
            leases = list(self._seen.items())
        return {
            name: seen
            for name, seen in leases
            if (name == prefix or prefix in seen.shown.gateways) and not seen.shown.is_taken
        }

    def take_over(self, _: Path) -> list[TakenRemote]:
        """Returns the content of gateways that have ended, or whose lease has expired. The caller moves it to its own
        folder, and finishes each; an interrupted take-over is repeated by any process.
        """
        assert self._lease is not None
        taken: list[TakenRemote] = []
        with self._lock:
            leases = dict(self._seen)
        expired = {name: seen for name, seen in leases.items() if self._may_take(name, seen, leases)}
        # A gateway that has itself taken over another one first: its records are newer.
        for name, seen in sorted(expired.items(), key=lambda item: item[1].shown.taker is not None):
            number = seen.number
            if seen.shown.taker != self._lease.name:
                number += 1
                shown = Shown(token=new_token(), gateways=seen.shown.gateways, taker=self._lease.name)
                if not create_lease(self.files, name, number, shown):
                    continue
                with self._lock:
                    self._seen[name] = _Seen(number, now_s(), shown)
                logger.info("this gateway takes over the sessions of gateway %s", name)
            taken.append(self._read(name, number, seen.shown.gateways))
        return taken

    def _may_take(self, name: str, seen: _Seen, leases: Mapping[str, _Seen]) -> bool:
        assert self._lease is not None
        shown = seen.shown
        if name == self._lease.name or shown.is_taken:
            return False
        if shown.taker is not None:
            taker = leases.get(shown.taker)
            has_ended = taker is None or taker.shown.is_released or taker.shown.taker is not None
            return has_ended or shown.taker == self._lease.name
        own = self._lease.shown
        # A process with this one's address on this machine has ended, because this one has its port.
        is_former = bool(own.machine) and shown.machine == own.machine and _have_one_port(shown.address, own.address)
        return shown.is_released or is_former or now_s() - seen.since > LEASE_S

    def _read(self, name: str, number: int, gateways: tuple[str, ...]) -> TakenRemote:
        """Writes a gateway's sessions, and the results that they name, to a local folder."""
        assert self._private is not None and self.replica is not None and self._lease is not None
        target = self._private.path / f"{name}.{new_token()}.taken"
        for path in (target, target / "sessions", target / "results"):
            path.mkdir(0o700)
        batches = [path for path in self.files.names(RECORDS) if path.startswith(f"{name}-")]
        content = read_content(self.files, [f"{RECORDS}/{path}" for path in sorted(batches)])
        prefixes = (name, *gateways)
        objects = [path for path in self.files.names(RESULTS) if path.startswith(prefixes)]
        parts, named = parts_of(objects), set[str]()
        for key, lines in content.journals.items():
            with suppress(msgspec.MsgspecError):  # the caller reports it
                named |= _results_in(lines)
            (target / "sessions" / key).touch(0o600)
            (target / "sessions" / key).write_bytes(lines)
        for result in named & parts.keys():
            if (self._lease.folder / RESULTS / result).exists():
                continue  # an interrupted take-over has restored it, and its session may use it
            with suppress(FileNotFoundError):
                download(self.files, result, parts[result], target / "results" / result)
        write_positions(target / "positions", content.positions)
        self.replica.adopt_results({result: parts[result] for result in named & parts.keys()})
        unused = {result: count for result, count in parts.items() if result not in named}
        return TakenRemote(self, target, name, number, batches, unused)

    def finish(self, taken: TakenRemote) -> None:
        """Removes a gateway's objects, after its content is stored as this gateway's own."""
        assert self._lease is not None and self.replica is not None
        if not self.replica.flush():
            logger.warning("the take-over of gateway %s is finished later", taken.name)
            return
        folder, lease = self._lease.folder, self._lease
        paths = [*(folder / "sessions").glob("[!.]*"), *(folder / "results").iterdir()]
        gateways = {path.name[: 2 * _NAME_BYTES] for path in paths} - {lease.name}
        lease.shown = msgspec.structs.replace(lease.shown, gateways=tuple(sorted(gateways)))
        try:
            if not lease.renew():  # before the former owner is no longer shown
                return
            shown = Shown(token=new_token(), taker=lease.name, is_taken=True)
            create_lease(self.files, taken.name, taken.number + 1, shown)
            with self._lock:
                self._seen[taken.name] = _Seen(taken.number + 1, now_s(), shown)
            for number in range(max(1, taken.number - 2), taken.number):
                self.files.delete(lease_path(taken.name, number))
            for path in taken.batches:
                self.files.delete(f"{RECORDS}/{path}")
            for result, parts in taken.unused.items():
                delete_result(self.files, result, parts)
        except (OSError, SqlError) as error:
            logger.warning("records of gateway %s stay in the state folder: %s", taken.name, error)

    def remove_own(self) -> None:
        """Removes this gateway's objects except its lease, after the replica is closed: it has no sessions."""
        assert self.replica is not None
        for path in self.files.names(RECORDS):
            if path.startswith(f"{self._own_name()}-"):
                self.files.delete(f"{RECORDS}/{path}")
        self.replica.remove_results()

    def _delete_leases(self, name: str, newest: int) -> None:
        for path in sorted(self.files.names(LEASES)):
            match = _OBJECT_NAME.fullmatch(path)
            if match and match[1] == name and int(match[2]) <= newest:
                self.files.delete(f"{LEASES}/{path}")

    def close(self) -> None:
        """Removes the local folder."""
        if self._private is not None:
            self._private.remove()


@dataclass(frozen=True, slots=True)
class TakenRemote:
    """Another process's content, which this process now owns, in a local folder.

    `batches` are the names of its objects; `unused` are its results, with their parts, that no session names.
    """

    folder: RemoteFolder
    path: Path
    name: str
    number: int
    batches: list[str]
    unused: dict[str, int]

    def finish(self, *, removes: bool) -> None:
        """Ends the take-over; without `removes` another one repeats it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if removes:
            self.folder.finish(self)


def _results_in(lines: bytes) -> set[str]:
    """Returns the names of the results that a journal's statements need."""
    records = [record for record, _ in decode(lines)]
    closed = {record.id for record in records if isinstance(record, StatementClosed)}
    return {
        name
        for record in records
        if isinstance(record, StatementEnded) and record.result is not None and record.id not in closed
        for name in file_names(record.result)
    }


def _have_one_port(address: Address | None, other: Address | None) -> bool:
    return address is not None and other is not None and (address.host, address.port) == (other.host, other.port)
