"""Personal access tokens: secrets that authenticate their owner until they expire or are revoked.

A token is `dgp_`, 43 base62 characters for 32 random bytes, and 6 for a checksum, by which a scanner for leaked secrets
distinguishes a token from other text. The file contains each token's SHA-256 and not the token: a secret that cannot be
guessed needs no slow hash. The file is one JSON document with mode 0600, replaced as a whole under a lock, so servers
and the command line may share it; the next request sees a change. While the file is unusable, no token is valid.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from catalog.conditions import SecretUnusable, TokenLifetimeInvalid, TokenNotFound, TooManyTokens
from catalog.errors import SqlError
from catalog.secret_files import lock_file, read_secret, stamp_of, write_secret

logger = logging.getLogger(__name__)

TOKEN_PREFIX = "dgp_"
LIFETIME_DAYS, LIFETIME_DAYS_MAX = 90, 365
TOKENS_PER_OWNER_MAX = 100
COMMENT_LENGTH_MAX = 200
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VERSION = 1
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOwner:
    """The identity that a token authenticates: the principal, and the groups and method from the login that
    created it.
    """

    principal: str
    groups: tuple[str, ...] = ()
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEntry:
    """A token without its secret. Times are in milliseconds since the epoch."""

    token_id: str
    digest: str
    owner: TokenOwner
    comment: str
    is_read_only: bool
    created_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """Parameters for a new token. It expires after `lifetime_s`, which must not exceed `expires_ms_max`; None: after 90
    days or at `expires_ms_max`, whichever is earlier.
    """

    owner: TokenOwner
    comment: str = ""
    lifetime_s: float | None = None
    is_read_only: bool = False
    expires_ms_max: int | None = None


def is_well_formed(token: str) -> bool:
    """Returns True if the text has a token's form; this distinguishes a misspelled token from a revoked one."""
    body, checksum = token.removeprefix(TOKEN_PREFIX)[:-6], token[-6:]
    return token.startswith(TOKEN_PREFIX) and len(body) == 43 and checksum == _checksum(body)


class TokenStore:
    """A file with tokens, created with the first one; thread-safe. `clock` is in seconds since the epoch."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """Opens the file; raises :class:`SecretUnusable` or :class:`~catalog.conditions.SecretReadable`."""
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._stamp = stamp_of(path)
        self._adopt(self._load())

    def create(self, request: TokenRequest) -> tuple[str, TokenEntry]:
        """Creates a token. Returns the token, which is not stored anywhere else, and its entry."""
        now_ms = int(self._clock() * 1000)
        limit_ms = now_ms + LIFETIME_DAYS_MAX * _DAY_MS
        if request.expires_ms_max is not None:
            limit_ms = min(limit_ms, request.expires_ms_max)
        if request.lifetime_s is None:
            expires_ms = min(now_ms + LIFETIME_DAYS * _DAY_MS, limit_ms)
        else:
            expires_ms = now_ms + int(request.lifetime_s * 1000)
        if not now_ms + 1000 <= expires_ms <= limit_ms:
            raise TokenLifetimeInvalid(LIFETIME_DAYS_MAX)
        token = _make_token()
        entry = TokenEntry(
            token_id=uuid.uuid4().hex,
            digest=_digest(token),
            owner=request.owner,
            comment=request.comment[:COMMENT_LENGTH_MAX],
            is_read_only=request.is_read_only,
            created_ms=now_ms,
            expires_ms=expires_ms,
        )
        with self._lock, lock_file(self._path, makes_folder=True):
            # Expired tokens are removed whenever one is added, so that the file does not
            # grow for ever.
            entries = {key: one for key, one in self._load().items() if one.expires_ms > now_ms}
            if sum(one.owner.principal == request.owner.principal for one in entries.values()) >= TOKENS_PER_OWNER_MAX:
                raise TooManyTokens(TOKENS_PER_OWNER_MAX)
            self._store({**entries, entry.digest: entry})
        return token, entry

    def find(self, token: str) -> TokenEntry | None:
        """Returns the entry for a token that is currently valid."""
        # Looked up by digest: no comparison with a stored secret takes a time that depends
        # on it.
        entry = self._newest().get(_digest(token)) if is_well_formed(token) else None
        return entry if entry and self._clock() * 1000 < entry.expires_ms else None

    def get(self, token_id: str) -> TokenEntry | None:
        """Returns a currently valid token by its id."""
        self._newest()
        entry = self._by_id.get(token_id)
        return entry if entry and self._clock() * 1000 < entry.expires_ms else None

    def entries(self, owner: str | None = None) -> tuple[TokenEntry, ...]:
        """Returns the currently valid tokens, oldest first: `owner`'s, or all."""
        now_ms = self._clock() * 1000
        return tuple(
            entry
            for entry in self._newest().values()
            if now_ms < entry.expires_ms and owner in (None, entry.owner.principal)
        )

    def revoke(self, token_id: str, owner: str | None = None) -> None:
        """Revokes a token; raises :class:`TokenNotFound` if `owner` has no token with that id. None may revoke all."""
        with self._lock, lock_file(self._path):
            entries = self._load()
            gone = {
                key
                for key, entry in entries.items()
                if entry.token_id == token_id and owner in (None, entry.owner.principal)
            }
            if not gone:
                raise TokenNotFound(token_id)
            self._store({key: entry for key, entry in entries.items() if key not in gone})

    def revoke_all(self, owner: str) -> int:
        """Revokes all tokens that `owner` has, and returns their number."""
        with self._lock, lock_file(self._path):
            entries = self._load()
            remaining = {key: entry for key, entry in entries.items() if entry.owner.principal != owner}
            if len(remaining) < len(entries):
                self._store(remaining)
        return len(entries) - len(remaining)

    def _newest(self) -> Mapping[str, TokenEntry]:
        with self._lock:
            if (stamp := stamp_of(self._path)) != self._stamp:
                self._stamp = stamp
                try:
                    self._adopt(self._load())
                except SqlError as error:
                    # Fail closed: with an unreadable file a revoked token could not be told
                    # from a valid one.
                    self._adopt({})
                    logger.error("no token is good: %s", error)
            return self._entries

    def _load(self) -> Mapping[str, TokenEntry]:
        if not self._path.exists():
            return {}
        content = read_secret(self._path)
        try:
            document = json.loads(content)
            if document["version"] != _VERSION:
                raise SecretUnusable(str(self._path), "a later release has written it")
            entries = [
                TokenEntry(**{**one, "owner": TokenOwner(**{**one["owner"], "groups": tuple(one["owner"]["groups"])})})
                for one in document["tokens"]
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise SecretUnusable(str(self._path), "it is no file of tokens") from error
        return {entry.digest: entry for entry in entries}

    def _store(self, entries: Mapping[str, TokenEntry]) -> None:
        document = {"version": _VERSION, "tokens": [asdict(entry) for entry in entries.values()]}
        write_secret(self._path, json.dumps(document, indent=1).encode())
        self._adopt(entries)
        self._stamp = stamp_of(self._path)

    def _adopt(self, entries: Mapping[str, TokenEntry]) -> None:
        self._entries = entries
        self._by_id = {entry.token_id: entry for entry in entries.values()}


def _make_token() -> str:
    body = _base62(int.from_bytes(secrets.token_bytes(32), "big"), 43)
    return f"{TOKEN_PREFIX}{body}{_checksum(body)}"


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), 6)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
