"""SCRAM-SHA-256 (RFC 5802 and 7677): verifiers of passwords, and the server's side of the exchange.

A verifier has the text of PostgreSQL's, `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, and is made when a
password is set, because it cannot be derived from another hash. Clients compute the iterations at each login; drivers
accept at most 100,000.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

ITERATIONS = 65_536
NAME = "SCRAM-SHA-256"
_SALT_BYTES, _NONCE_BYTES = 16, 18
_MESSAGE_BYTES_MAX = 2048
_VERIFIER = re.compile(
    r"SCRAM-SHA-256\$([1-9][0-9]{2,6}):([A-Za-z0-9+/=]{8,88})\$([A-Za-z0-9+/]{43}=):([A-Za-z0-9+/]{43}=)"
)
# The channel binding that is supported; RFC 5929 defines others.
BINDING_TYPE = "tls-server-end-point"
# `n`: the client binds no channel, `y`: it believes that the server binds none. An authorization id is not supported,
# and the name is ignored (PostgreSQL).
_FIRST = re.compile(
    rb"(?P<header>(?P<binds>n|y|p=[A-Za-z0-9.-]+),,)(?P<bare>n=[^,]*,r=(?P<nonce>[\x21-\x2b\x2d-\x7e]{1,256}))"
)
_FINAL = re.compile(rb"(?P<bare>c=(?P<binding>[A-Za-z0-9+/=]*),r=(?P<nonce>[^,]*)),p=(?P<proof>[A-Za-z0-9+/]{43}=)")


class MalformedExchange(Exception):
    """A client's message is not one of SCRAM-SHA-256; the text has the reason."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """A password's verifier (RFC 5802)."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def format(self) -> str:
        """Returns the verifier in PostgreSQL's form, `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`, in base64."""
        salt, stored, server = (base64.b64encode(one).decode() for one in (self.salt, self.stored_key, self.server_key))
        return f"{NAME}${self.iterations}:{salt}${stored}:{server}"


def make_verifier(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
    """Returns the verifier of a password, with a random salt by default."""
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", _prepare(password).encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return Verifier(iterations, salt, hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256"))


def parse_verifier(text: str) -> Verifier | None:
    """Returns None for a text that is not a verifier."""
    found = _VERIFIER.fullmatch(text)
    if found is None:
        return None
    try:
        salt, stored, server = (base64.b64decode(part, validate=True) for part in found.groups()[1:])
    except binascii.Error:
        return None
    return Verifier(int(found[1]), salt, stored, server)


def decoy_verifier(key: bytes, user: str) -> Verifier:
    """Returns a verifier that no password matches, the same for each login of a user who does not exist."""
    salt = hmac.digest(key, user.encode("utf-8", "replace"), "sha256")[:_SALT_BYTES]
    return Verifier(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


class ScramExchange:
    """One client's exchange with two messages, after which the client has proved its password.

    `end_point` is the channel binding that the connection offers, if it offers one. With `is_bound` the client has
    chosen it, and both messages have to name it: another server in between has another certificate.
    """

    def __init__(self, verifier: Verifier, end_point: bytes = b"", *, is_bound: bool = False) -> None:
        self._verifier = verifier
        self._end_point, self._is_bound = end_point, is_bound
        self._nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES))
        self._header = self._transcript = b""

    def begin(self, message: bytes) -> bytes:
        """Returns the response to the client's first message. Raises :class:`MalformedExchange`."""
        first = _FIRST.fullmatch(message) if len(message) <= _MESSAGE_BYTES_MAX else None
        if first is None:
            raise MalformedExchange("the first message is malformed")
        self._ensure_binding(first["binds"].decode())
        self._header, self._nonce = first["header"], first["nonce"] + self._nonce
        salt = base64.b64encode(self._verifier.salt)
        answer = b"r=%s,s=%s,i=%d" % (self._nonce, salt, self._verifier.iterations)
        self._transcript = first["bare"] + b"," + answer + b","
        return answer

    def finish(self, message: bytes) -> bytes | None:
        """Returns the response to the client's proof, with which the client recognizes the server; None for a wrong
        password. Raises :class:`MalformedExchange`.
        """
        final = _FINAL.fullmatch(message) if len(message) <= _MESSAGE_BYTES_MAX else None
        if final is None:
            raise MalformedExchange("the final message is malformed")
        binding = self._header + (self._end_point if self._is_bound else b"")
        if not hmac.compare_digest(final["binding"], base64.b64encode(binding)):
            raise MalformedExchange("the channel binding is not that of this connection")
        if not hmac.compare_digest(final["nonce"], self._nonce):
            raise MalformedExchange("the final message does not belong to the first one")
        transcript = self._transcript + final["bare"]
        signature = hmac.digest(self._verifier.stored_key, transcript, "sha256")
        proof = base64.b64decode(final["proof"])
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key):
            return None
        return b"v=" + base64.b64encode(hmac.digest(self._verifier.server_key, transcript, "sha256"))

    def _ensure_binding(self, binds: str) -> None:
        """Raises :class:`MalformedExchange` if the client's flag is not that of the mechanism."""
        if self._is_bound and (binds != f"p={BINDING_TYPE}" or not self._end_point):
            raise MalformedExchange(f"the channel binding is not {BINDING_TYPE}")
        if not self._is_bound and binds.startswith("p"):
            raise MalformedExchange(f"channel binding requires the mechanism {NAME}-PLUS")
        if not self._is_bound and binds == "y" and self._end_point:
            # Somebody has removed the mechanism from the server's list (RFC 5802, section 6).
            raise MalformedExchange("the client has not seen that the server supports channel binding")


def _prepare(password: str) -> str:
    """Returns a password after SASLprep (RFC 4013); unchanged if it has characters that SASLprep prohibits, as in
    PostgreSQL.
    """
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in password if not stringprep.in_table_b1(char)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    is_prohibited = any(_is_prohibited(char) for char in prepared)
    if not prepared or is_prohibited or not _has_one_direction(prepared):
        return password
    return prepared


def _is_prohibited(char: str) -> bool:
    tables = (
        *(stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4),
        *(stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8),
        *(stringprep.in_table_c9, stringprep.in_table_a1),
    )
    return any(table(char) for table in tables)


def _has_one_direction(text: str) -> bool:
    if not any(map(stringprep.in_table_d1, text)):
        return True
    is_right_to_left = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return is_right_to_left and not any(map(stringprep.in_table_d2, text))
