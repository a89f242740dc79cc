"""The records in a session's journal: JSON objects, one per line, with their kind in `type`.

A line that is not complete is the last one before a crash, and nobody has seen what it would have recorded. Members
that are added later need defaults, so that an older journal can be read; `FORMAT_VERSION` in `folder.py` changes if a
reader of the old version would misunderstand the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from engine.runtime.identity import Identity, Method, Scope


class SavedIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An `Identity`."""

    principal: str
    groups: tuple[str, ...] = ()
    is_admin: bool = False
    method: str
    real_user: str | None = None
    client_id: str | None = None
    scopes: tuple[str, ...]
    expires_ms: int | None = None


class SessionOpened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session"):
    """A session, the first record of each journal. `client` is its front end's state, `secret` the SHA-256 of the
    secret in its handles (empty: it has none).
    """

    id: str
    identity: SavedIdentity
    wire: str = ""
    peer: str = ""
    user_agent: str | None = None
    created_ms: int
    secret: str = ""
    client: dict[str, object] = {}
    is_single: bool = False  # it was opened for one statement


class SessionChanged(msgspec.Struct, frozen=True, kw_only=True, tag="state"):
    """The engine session's state after a statement, as `EngineSession.saved_state` returns it."""

    state: dict[str, object]


class SavedParameter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `Parameter`, as clients send them."""

    value: str | None
    sql_type: str
    name: str | None = None
    members: tuple[SavedParameter, ...] | None = None


class StatementRecorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="statement"):
    """A statement whose id its client knows. `options` are its front end's, which make its response.

    A statement that had ended has a truncated text and no parameters: it is not whole.
    """

    id: str
    text: str
    parameters: tuple[SavedParameter, ...] = ()
    is_whole: bool = True
    kind: str
    is_kind_known: bool = True
    is_call: bool = False
    created_ms: int
    instant_us: int = 0
    timeout_s: float | None = None
    row_limit: int | None = None
    bytes_wanted: int | None = None
    has_counts: bool = False
    shows_materialized: bool = False
    settings: dict[str, str] = {}
    options: dict[str, object] = {}


class VersionsRead(msgspec.Struct, frozen=True, kw_only=True, tag="versions"):
    """The versions of the tables that a running query reads."""

    id: str
    versions: dict[str, str]


class SavedError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error, with its texts."""

    condition: str
    sqlstate: str
    message: str
    hint: str = ""
    name: str | None = None
    position: dict[str, object] | None = None


class SavedBatch(msgspec.Struct, frozen=True, array_like=True):
    """A `StoredBatch`; `file` is a name in the folder for results."""

    file: str
    offset: int
    length: int
    stored_rows: int
    stored_bytes: int
    first: int
    num_rows: int
    checksum: int | None


class SavedResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole result: its columns as an Arrow schema message, and its rows in files, or `inline` as Arrow messages."""

    schema: bytes
    has_rows: bool = True
    inline: tuple[bytes, ...] = ()
    batches: tuple[SavedBatch, ...] = ()
    row_counts: dict[str, object] | None = None
    time_zone: str = "UTC"
    is_from_cache: bool = False


class StatementEnded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="end"):
    """A statement's outcome: `state` is an `OperationState`; it has an error, a result, or neither if its result cannot
    be read again.
    """

    id: str
    state: str
    ended_ms: int
    error: SavedError | None = None
    result: SavedResult | None = None
    options: dict[str, object] = {}


class StatementClosed(msgspec.Struct, frozen=True, kw_only=True, tag="closed"):
    """A statement that its client has closed."""

    id: str


class SharedRecords(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="shared"):
    """Records of one session in a journal of several (`shared_journal.py`), or that it `has_ended`."""

    session: str
    records: tuple[Record, ...] = ()
    has_ended: bool = False


Record: TypeAlias = SessionOpened | SessionChanged | StatementRecorded | VersionsRead | StatementEnded | StatementClosed

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_SHARED_DECODER = msgspec.json.Decoder(SharedRecords)
# The beginning of each line in a journal of several sessions.
_SHARED_PREFIX = b'{"type":"shared",'


def encode(record: Record) -> bytes:
    """Returns the record's line."""
    return _ENCODER.encode(record) + b"\n"


def encode_shared(records: SharedRecords) -> bytes:
    """Returns the line of a session's records in a shared journal."""
    return _ENCODER.encode(records) + b"\n"


def decode(content: bytes) -> Iterator[tuple[Record, int]]:
    """Yields the records of a journal with the sizes of their lines. Raises `msgspec.MsgspecError` for a complete line
    that is none.
    """
    lines = content.split(b"\n")
    for line in lines[:-1]:
        yield _DECODER.decode(line), len(line) + 1


def is_shared(content: bytes) -> bool:
    """Returns True if the journal is one of several sessions."""
    return content.startswith(_SHARED_PREFIX) or b"\n" + _SHARED_PREFIX in content


def decode_shared(content: bytes) -> Iterator[tuple[SharedRecords | None, int]]:
    """Yields the lines of a shared journal with their sizes; None for a line that cannot be read."""
    lines = content.split(b"\n")
    for line in lines[:-1]:
        try:
            yield _SHARED_DECODER.decode(line), len(line) + 1
        except msgspec.MsgspecError:
            yield None, len(line) + 1


def saved_identity(identity: Identity) -> SavedIdentity:
    """Returns the identity as a record; sets become sorted tuples, so that equal identities have equal records."""
    return SavedIdentity(
        principal=identity.principal,
        groups=tuple(sorted(identity.groups)),
        is_admin=identity.is_admin,
        method=identity.method,
        real_user=identity.real_user,
        client_id=identity.client_id,
        scopes=tuple(sorted(identity.scopes)),
        expires_ms=identity.expires_ms,
    )


def restored_identity(saved: SavedIdentity) -> Identity:
    """Returns the identity of a record. Raises `ValueError` for a method or scope that this release does not have."""
    return Identity(
        principal=saved.principal,
        groups=frozenset(saved.groups),
        is_admin=saved.is_admin,
        method=Method(saved.method),
        real_user=saved.real_user,
        client_id=saved.client_id,
        scopes=frozenset(map(Scope, saved.scopes)),
        expires_ms=saved.expires_ms,
    )
