"""The method `certificate`: clients with a TLS certificate from an authority that the server trusts for client
authentication.

TLS has verified the certificate before this method receives its names: `email:`, `uri:` and `dns:` from its
subjectAltName, and `cn:` from its subject last. The first name that fully matches a pattern determines the principal,
by the pattern's group. If users are looked up (in a password file or a directory), the principal must exist there, and
has the groups from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from catalog.conditions import CredentialsRefused, LogInEnded, UserNameInvalid
from engine.runtime.identity import Identity, Method
from gateway.authenticators.names import UserDirectory, ensure_name


@dataclass(frozen=True, slots=True)
class Certificates:
    patterns: tuple[re.Pattern[str], ...]
    users: UserDirectory | None = None

    def log_in(self, names: tuple[str, ...]) -> Identity:
        """Returns the identity for a certificate's names; raises :class:`CredentialsRefused`."""
        for name in names:
            for pattern in self.patterns:
                if match := pattern.fullmatch(name):
                    return self._identity(match[1])
        raise CredentialsRefused()

    def ensure_current(self, identity: Identity) -> None:
        """Raises :class:`LogInEnded` if the user is gone or has other groups."""
        if identity.real_user is not None or self.users is None:
            return
        found = self._find(identity.principal)
        if found is None or (found.principal, found.groups) != (identity.principal, identity.groups):
            raise LogInEnded()

    def _identity(self, name: str) -> Identity:
        found = self._find(name)
        if found is None:
            raise CredentialsRefused()
        return found

    def _find(self, name: str) -> Identity | None:
        try:
            found = self.users.find(name) if self.users else Identity(ensure_name(name))
        except UserNameInvalid:
            return None
        return Identity(found.principal, found.groups, method=Method.CERTIFICATE) if found else None
