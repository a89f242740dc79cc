"""Users with passwords in a file with lines `name:hash[:group,group…[:verifier]]`; `passwords.py` creates the hashes,
`scram.py` the verifiers of SCRAM-SHA-256, which PostgreSQL's clients use. Lines of older releases have none.

The file is reread when it changes. While it is unusable, no user can log in, but logged-in users continue.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from catalog.conditions import CredentialsRefused, LogInEnded, SecretUnusable, UserNameInvalid
from catalog.errors import SqlError
from catalog.secret_files import lock_file, read_secret, stamp_of, write_secret
from engine.runtime.identity import Identity, Method
from gateway.authenticators.names import ensure_name, fold_name
from gateway.authenticators.passwords import PasswordVerifier, hash_password, is_password_hash
from gateway.authenticators.scram import Verifier, decoy_verifier, make_verifier, parse_verifier
from gateway.configuration.reloads import OnReload, ignore_reload

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class User:
    """One line in the file."""

    name: str
    password_hash: str
    groups: tuple[str, ...] = ()
    verifier: Verifier | None = None

    def format(self) -> str:
        """Returns the line for the file, without a line break; the groups are present if the verifier is."""
        groups = [",".join(self.groups)] if self.groups or self.verifier else []
        return ":".join((self.name, self.password_hash, *groups, *([self.verifier.format()] if self.verifier else [])))


def make_user(name: str, password: str, groups: tuple[str, ...] = ()) -> User:
    """Returns a user with the hash and the verifier of a password. Raises :class:`PasswordInvalid`."""
    return User(name, hash_password(password), groups, make_verifier(password))


# Users by folded name.
Users = Mapping[str, User]


def parse_users(content: bytes, path: str) -> Users:
    """Parses a file's content. Raises :class:`SecretUnusable` for a malformed line."""
    users: dict[str, User] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            user = _parse_user(line)
        except (UserNameInvalid, ValueError) as error:  # without the line, because it contains a hash
            expected = "name:argon2id-hash[:group,group[:verifier]]"
            raise SecretUnusable(path, f"line {number} is not {expected}: {error}") from None
        if fold_name(user.name) in users:
            raise SecretUnusable(path, f"line {number} has a user whom a line before has too")
        users[fold_name(user.name)] = user
    groups = {fold_name(group) for user in users.values() for group in user.groups}
    if both := sorted(groups & set(users)):
        raise SecretUnusable(path, f"{both[0]} is a user and a group")
    return users


def _parse_user(line: str) -> User:
    name, stored, *rest = line.split(":", 3)
    if not is_password_hash(stored):
        raise ValueError("the hash is none of argon2id")
    verifier = parse_verifier(rest[1]) if len(rest) > 1 else None
    if len(rest) > 1 and verifier is None:
        raise ValueError("the verifier is none of SCRAM-SHA-256")
    groups = tuple(map(ensure_name, rest[0].split(","))) if rest and rest[0] else ()
    return User(ensure_name(name), stored, groups, verifier)


def load_users(path: Path) -> Users:
    """Reads the password file. Raises `SecretUnusable` for a malformed line, and like `read_secret`."""
    return parse_users(read_secret(path), str(path))


def store_user(path: Path, user: User) -> bool:
    """Adds `user`, or replaces its line; returns True if it existed. Creates the file if necessary."""
    with lock_file(path):
        users = dict(load_users(path)) if path.exists() else {}
        key = fold_name(user.name)
        was_there = key in users
        _write(path, [*(other for name, other in users.items() if name != key), user])
    return was_there


def remove_user(path: Path, name: str) -> User | None:
    """Removes and returns the user; None if it does not exist."""
    with lock_file(path):
        users = load_users(path)
        removed = users.get(fold_name(name))
        if removed:
            _write(path, [user for user in users.values() if user is not removed])
    return removed


def _write(path: Path, users: Iterable[User]) -> None:
    content = "".join(f"{user.format()}\n" for user in users).encode()
    parse_users(content, str(path))  # never writes a file that the server would reject
    write_secret(path, content)


def _identity(user: User) -> Identity:
    return Identity(user.name, frozenset(user.groups), method=Method.PASSWORD)


def _fingerprint(user: User) -> str:
    """Returns a value that changes with the password."""
    return f"password:{hashlib.sha256(user.password_hash.encode()).hexdigest()[:16]}"


class PasswordFile:
    """The method `password`; thread-safe."""

    def __init__(
        self, path: Path, verifier: PasswordVerifier | None = None, on_reload: OnReload = ignore_reload
    ) -> None:
        """Opens the file; raises :class:`SecretUnusable` or :class:`SecretReadable`."""
        self._path = path
        self._verifier = verifier or PasswordVerifier()
        self._on_reload = on_reload
        self._lock = threading.Lock()
        self._stamp = stamp_of(path)
        self._is_usable = True
        self._generation = 0
        self._users = load_users(path)
        self._decoy_key = secrets.token_bytes(32)

    @property
    def generation(self) -> int:
        """Returns the number of changes to the file."""
        self._newest()
        return self._generation

    def log_in(self, user: str, password: str) -> Identity:
        """Verifies a password; raises :class:`CredentialsRefused`, or :class:`TooManyLogIns`."""
        users = self._newest()
        found = users.get(fold_name(user)) if self._is_usable else None
        if not self._verifier.matches(password, found.password_hash if found else None) or found is None:
            raise CredentialsRefused()
        return replace(_identity(found), client_id=_fingerprint(found))

    def has_verifier(self, user: str) -> bool:
        """Returns True if `user` logs in by SCRAM-SHA-256; also for a user who does not exist."""
        found = self._newest().get(fold_name(user))
        return found is None or found.verifier is not None

    def verifier(self, user: str) -> Verifier:
        """Returns the user's verifier; for a user without, one that no password matches."""
        found = self._newest().get(fold_name(user)) if self._is_usable else None
        verifier = found.verifier if found is not None else None
        return verifier or decoy_verifier(self._decoy_key, fold_name(user))

    def verified(self, user: str, verifier: Verifier) -> Identity:
        """Returns a user who has proved the password of `verifier`; raises :class:`CredentialsRefused` if it is no
        longer the user's.
        """
        found = self._newest().get(fold_name(user)) if self._is_usable else None
        if found is None or found.verifier != verifier:
            raise CredentialsRefused()
        return replace(_identity(found), client_id=_fingerprint(found))

    def find(self, user: str) -> Identity | None:
        """Returns a user without a login, for impersonation."""
        found = self._newest().get(fold_name(user))
        return _identity(found) if found else None

    def ensure_current(self, identity: Identity) -> None:
        """Raises :class:`LogInEnded` if the user is gone, or has other groups or another password."""
        found = self._newest().get(fold_name(identity.principal))
        if found is None or found.name != identity.principal or frozenset(found.groups) != identity.groups:
            raise LogInEnded()
        if identity.client_id not in (None, _fingerprint(found)):
            raise LogInEnded()

    def _newest(self) -> Users:
        with self._lock:
            if (stamp := stamp_of(self._path)) != self._stamp:
                self._stamp = stamp
                self._reload()
            return self._users

    def _reload(self) -> None:
        self._generation += 1
        try:
            self._users = load_users(self._path)
            self._is_usable = True
        except SqlError as error:
            self._is_usable = False
            logger.error("nobody can log in with a password: %s", error)
        else:
            logger.info("the password file %s was read again", self._path)
        self._on_reload(str(self._path), self._is_usable)
