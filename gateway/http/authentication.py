"""The `Authorization` header: its schemes correspond to the mechanisms in `gateway/authenticators`.

    Basic base64(user:password)   PLAIN       (RFC 7617)
    Bearer token                  BEARER      (RFC 6750)
    no header                     ANONYMOUS, or with a certificate EXTERNAL

Any other header is rejected, and never treated as missing. With anonymous authentication, Basic credentials that are
not user:password are treated as no name: ADBC's Spark driver sends `Basic DummyToken`, which Spark's own server
ignores.
"""

from __future__ import annotations

from base64 import b64decode
from typing import assert_never

from catalog.conditions import AuthenticationFailed
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from gateway.authenticators.exchange import KERBEROS_REFUSED, Authenticator, Mechanism, log_in, plain_message
from gateway.authenticators.peer import Peer

_SCHEMES = {"Basic": Mechanism.PLAIN, "Bearer": Mechanism.BEARER}
_REALM = "delta-gateway"
_RETRY_S = 5


def authenticate(authenticator: Authenticator, header: str | None, peer: Peer) -> Identity:
    """Returns the identity for a request with this header. Raises
    :class:`~gateway.authenticators.AuthenticationFailed`.
    """
    if header is None:
        by_transport = Mechanism.EXTERNAL if peer.certificate_names else Mechanism.ANONYMOUS
        return log_in(authenticator, by_transport, b"", peer)
    scheme, _, credentials = header.strip().partition(" ")
    mechanism = _SCHEMES.get(scheme.capitalize())
    match mechanism:
        case None:
            # a token without a scheme must not be repeated in an error
            hint = f" {KERBEROS_REFUSED}" if scheme.lower() == "negotiate" else ""
            raise AuthenticationFailed(
                f"the header Authorization has another scheme than {' or '.join(_SCHEMES)}.{hint}"
            )
        case Mechanism.PLAIN:
            parts = _user_and_password(credentials)
            if parts is None and Mechanism.ANONYMOUS in authenticator.mechanisms:
                return log_in(authenticator, Mechanism.ANONYMOUS, b"", peer)
            if parts is None:
                raise AuthenticationFailed(
                    "the credentials of the scheme Basic are not base64 of user:password in UTF-8."
                )
            message = plain_message(*parts)
        case Mechanism.ANONYMOUS | Mechanism.BEARER | Mechanism.EXTERNAL | Mechanism.SCRAM | Mechanism.SCRAM_PLUS:
            message = credentials.strip().encode("latin-1")
        case _:
            assert_never(mechanism)
    return log_in(authenticator, mechanism, message, peer)


def challenges(
    authenticator: Authenticator, *, is_browser: bool = False, resource_metadata: str | None = None
) -> list[tuple[str, str]]:
    """Returns the headers with the accepted schemes; 401 requires one (RFC 9110, section 11.6.1).

    A browser (`is_browser`) gets no challenge of the scheme Basic, because it would open a password dialog of its own
    instead of the login page. `resource_metadata` is the URL of the metadata for OAuth clients (RFC 9728, section 5.1).
    """
    known = [
        scheme
        for scheme, mechanism in _SCHEMES.items()
        if mechanism in authenticator.mechanisms and not (is_browser and mechanism is Mechanism.PLAIN)
    ]
    further = {"Bearer": f', resource_metadata="{resource_metadata}"'} if resource_metadata else {}
    return [("WWW-Authenticate", f'{scheme} realm="{_REALM}"{further.get(scheme, "")}') for scheme in known]


def retry_after(error: Exception) -> list[tuple[str, str]]:
    """Returns the Retry-After header for a throttled client, and for a server that starts or drains."""
    if not isinstance(error, SqlError) or not error.sqlstate.startswith(("53", "57P")):
        return []
    if error.sqlstate.startswith("57P"):
        return [("Retry-After", "1")]
    return [("Retry-After", str(getattr(error, "retry_after_s", _RETRY_S)))]


def _user_and_password(credentials: str) -> tuple[str, str] | None:
    """Returns the two parts of Basic credentials (RFC 7617); None for anything else."""
    try:
        user, colon, password = b64decode(credentials.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError:  # includes decoding errors
        return None
    return (user, password) if colon else None
