"""Signed heads for the audit log: they reveal missing last lines, and a replaced log.

A head is a line's number and digest. It is signed with an Ed25519 private key (RFC 8032) every :data:`LINES` lines, and
:data:`SECONDS` seconds after a line that no head covers yet. Heads are JSON lines in a separate file, preferably on
another machine: {"seq", "digest", "time", "signature"}, with the base64 signature over the text
`delta-gateway-audit-head`, seq, digest and time, each on a line.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from catalog.conditions import AuditKeyUnusable, AuditNotWritten
from catalog.secret_files import read_secret
from gateway.audit.chain import ChainEnd

LINES, SECONDS = 1000, 60.0
_PREFIX = "delta-gateway-audit-head"
logger = logging.getLogger(__name__)


class ChainSigner:
    """Signs heads; thread-safe. A head that cannot be written is logged and retried."""

    def __init__(self, key: Ed25519PrivateKey, file: Path, *, lines: int = LINES, seconds: float = SECONDS) -> None:
        """Opens the file; raises `AuditNotWritten`."""
        self._key = key
        self._lines = lines
        self._seconds = seconds
        # Guards all attributes below.
        self._lock = threading.Lock()
        self._newest = self._signed = ChainEnd()
        self._timer: threading.Timer | None = None
        self._is_closed = False
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(file, flags, 0o600)
        except OSError as error:
            raise AuditNotWritten(str(file), error.strerror or str(error)) from error

    def note(self, chain_end: ChainEnd) -> None:
        """Registers the log's new line."""
        with self._lock:
            self._newest = chain_end
            if chain_end.seq - self._signed.seq >= self._lines:
                self._sign()
            # A quiet server signs its last line after a while too; otherwise it could be
            # removed unnoticed until the next thousand.
            elif self._timer is None and not self._is_closed:
                self._timer = threading.Timer(self._seconds, self._sign_in_time)
                self._timer.name = "audit-head"
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Signs the last line."""
        with self._lock:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._sign()
            os.close(self._file)

    def _sign_in_time(self) -> None:
        with self._lock:
            self._timer = None
            if not self._is_closed:
                self._sign()

    def _sign(self) -> None:
        chain_end = self._newest
        if chain_end.seq <= self._signed.seq:
            return
        try:
            line = format_chain_end(self._key, chain_end, time.time())
            if os.write(self._file, line + b"\n") != len(line) + 1:
                raise OSError(0, "the disk is full")
        except OSError:
            logger.exception("a head of the audit trail could not be written")
            return
        self._signed = chain_end


def format_chain_end(key: Ed25519PrivateKey, chain_end: ChainEnd, time_s: float) -> bytes:
    """Returns the line, without its newline."""
    moment = dt.datetime.fromtimestamp(time_s, dt.UTC).isoformat(timespec="milliseconds")
    signature = base64.b64encode(key.sign(_signed_text(chain_end.seq, chain_end.digest, moment))).decode()
    return json.dumps(
        {"seq": chain_end.seq, "digest": chain_end.digest, "time": moment, "signature": signature}
    ).encode()


def read_chain_ends(lines: Iterable[bytes], key: Ed25519PublicKey) -> Mapping[int, str]:
    """Returns the digests by line number. Raises ValueError for the first line that is not signed by `key`.

    A torn line, which a killed server leaves, is skipped.
    """
    found: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        try:
            key.verify(
                base64.b64decode(record["signature"], validate=True),
                _signed_text(record["seq"], record["digest"], record["time"]),
            )
        except (InvalidSignature, KeyError, TypeError, binascii.Error):
            raise ValueError(f"head {number} is not signed with this key") from None
        # Two signed heads for one line mean that a second log was written with the same
        # key.
        if found.setdefault(record["seq"], record["digest"]) != record["digest"]:
            raise ValueError(f"head {number} contradicts the one before it of line {record['seq']}")
    return found


def _signed_text(seq: object, digest: object, moment: object) -> bytes:
    return "\n".join((_PREFIX, str(seq), str(digest), str(moment))).encode()


def private_key(path: Path) -> Ed25519PrivateKey:
    """Loads a private key from a PEM file that only the owner may read. Raises `AuditKeyUnusable`, and errors from
    reading secrets.
    """
    try:
        key = load_pem_private_key(read_secret(path), None)
    except (ValueError, TypeError) as error:
        raise AuditKeyUnusable(str(path), "it holds no private key in PEM without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise AuditKeyUnusable(str(path), "its key is not one of Ed25519")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Loads a public key from a PEM file. Raises `AuditKeyUnusable`."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise AuditKeyUnusable(str(path), (error.strerror or str(error)).lower()) from error
    except ValueError as error:
        raise AuditKeyUnusable(str(path), "it holds no public key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise AuditKeyUnusable(str(path), "its key is not one of Ed25519")
    return key
