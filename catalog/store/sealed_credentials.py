"""Storage credentials in the catalog: the folder `credentials` in the catalog's folder, in the form of its own state.

The fields of a credential are encrypted with AES-256-GCM (NIST SP 800-38D) under a key that is not in the catalog.
Name and URLs are authenticated with them: whoever can write these files cannot have a secret sent to another store.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from catalog.conditions import (
    BackupUnreadable,
    CatalogBusy,
    CatalogNotWritable,
    CredentialNotFound,
    CredentialSealed,
    RestoreNotEmpty,
)
from catalog.store.entry_json import MalformedEntry
from catalog.store.file_store import CREDENTIALS_FOLDER, CREDENTIALS_SUFFIX, GenerationStore, StoredForm
from catalog.store.remote import open_files

KEY_BYTES = 32
_NONCE_BYTES = 12
_CHANGE_ATTEMPTS_MAX = 50
_BACKOFF_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCredential:
    """A credential whose fields are encrypted; `fields` are their names, `key_id` identifies the key."""

    name: str
    urls: tuple[str, ...]
    fields: tuple[str, ...]
    key_id: str
    # The nonce, then the encrypted fields with their tag, in Base64.
    sealed: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CredentialsState:
    generation: int
    credentials: Mapping[str, SealedCredential]


def _parse(value: object) -> SealedCredential:
    try:
        return msgspec.convert(value, SealedCredential)
    except msgspec.ValidationError as error:
        raise MalformedEntry(str(error)) from error


def _state_of(generation: int, entries: Iterable[object]) -> _CredentialsState:
    found = {entry.name: entry for entry in entries if isinstance(entry, SealedCredential)}
    return _CredentialsState(generation=generation, credentials=found)


_CREDENTIALS: StoredForm[_CredentialsState, SealedCredential] = StoredForm(
    initial=_CredentialsState(generation=0, credentials={}),
    entries=lambda state: state.credentials.values(),
    state_of=_state_of,
    path=lambda credential: credential.name,
    to_json=msgspec.to_builtins,
    from_json=_parse,
    suffix=CREDENTIALS_SUFFIX,
)


def seal(name: str, urls: tuple[str, ...], fields: Mapping[str, object], key: bytes) -> SealedCredential:
    """Encrypts a credential's fields under a key of `KEY_BYTES`."""
    nonce = os.urandom(_NONCE_BYTES)
    text = json.dumps(dict(fields)).encode()
    sealed = base64.b64encode(nonce + AESGCM(key).encrypt(nonce, text, _associated(name, urls))).decode()
    return SealedCredential(name=name, urls=urls, fields=tuple(sorted(fields)), key_id=key_id(key), sealed=sealed)


def unseal(credential: SealedCredential, key: bytes | None) -> Mapping[str, object]:
    """Returns a credential's fields; raises `CredentialSealed`."""
    if key is None:
        raise CredentialSealed(credential.name, "storage.credentials_key is not set")
    if credential.key_id != key_id(key):
        raise CredentialSealed(credential.name, f"it was added with another key ({credential.key_id})")
    try:
        data = base64.b64decode(credential.sealed, validate=True)
        text = AESGCM(key).decrypt(
            data[:_NONCE_BYTES], data[_NONCE_BYTES:], _associated(credential.name, credential.urls)
        )
    except (InvalidTag, ValueError) as error:
        raise CredentialSealed(credential.name, "its file was changed") from error
    fields: Mapping[str, object] = json.loads(text)
    return fields


def key_id(key: bytes) -> str:
    """Returns a text that identifies a key without revealing it."""
    return hashlib.sha256(b"delta-gateway storage credentials\0" + key).hexdigest()[:16]


def _associated(name: str, urls: tuple[str, ...]) -> bytes:
    return json.dumps([name, *urls]).encode()


def dump_credentials(credentials: Iterable[SealedCredential]) -> bytes:
    """Returns the credentials as JSON lines, for a backup; they stay encrypted."""
    return b"".join(msgspec.json.encode(credential) + b"\n" for credential in credentials)


def parse_credentials(lines: bytes, source: str) -> tuple[SealedCredential, ...]:
    """Returns what `dump_credentials` wrote. Raises `BackupUnreadable` with the line's number in `source`."""
    found = []
    for number, line in enumerate(lines.splitlines(), 1):
        try:
            found.append(msgspec.json.decode(line, type=SealedCredential))
        except msgspec.DecodeError as error:  # ValidationError is one
            raise BackupUnreadable(source, f"line {number} of the credentials: {error}") from error
    return tuple(found)


class CredentialStore:
    """The credentials in a catalog's folder, for several processes."""

    def __init__(self, catalog_folder: str) -> None:
        self._store = GenerationStore(open_files(f"{catalog_folder.rstrip('/')}/{CREDENTIALS_FOLDER}"), _CREDENTIALS)

    def load(self) -> tuple[SealedCredential, ...]:
        """Returns all credentials, by name."""
        found = self._store.load().credentials
        return tuple(found[name] for name in sorted(found))

    def put(self, credential: SealedCredential) -> None:
        """Adds a credential, or replaces the one of its name. Raises `CatalogBusy`, `CatalogNotWritable`."""
        self._change(lambda found: {**found, credential.name: credential})

    def remove(self, name: str) -> None:
        """Removes a credential. Raises `CredentialNotFound`, `CatalogBusy`, `CatalogNotWritable`."""

        def fold(found: Mapping[str, SealedCredential]) -> Mapping[str, SealedCredential]:
            if name not in found:
                raise CredentialNotFound(name)
            return {other: credential for other, credential in found.items() if other != name}

        self._change(fold)

    def restore(self, credentials: Iterable[SealedCredential], *, replaces: bool) -> None:
        """Makes `credentials` the only ones. Raises `RestoreNotEmpty` if there are others, unless it `replaces` them,
        `CatalogBusy` and `CatalogNotWritable`.
        """
        restored = {credential.name: credential for credential in credentials}

        def fold(found: Mapping[str, SealedCredential]) -> Mapping[str, SealedCredential]:
            if found and not replaces:
                raise RestoreNotEmpty(len(found))
            return restored

        self._change(fold)

    def _change(self, fold: Callable[[Mapping[str, SealedCredential]], Mapping[str, SealedCredential]]) -> None:
        for attempt in range(_CHANGE_ATTEMPTS_MAX):
            base = self._store.load()
            new = _state_of(base.generation + 1, fold(base.credentials).values())
            try:
                if self._store.swap(base, new):
                    return
            except OSError as error:
                raise CatalogNotWritable(error.strerror or str(error)) from error
            time.sleep(random.uniform(0, _BACKOFF_S * (attempt + 1) / _CHANGE_ATTEMPTS_MAX))
        raise CatalogBusy(_CHANGE_ATTEMPTS_MAX)
