"""The method `certificate`: clients whose TLS certificate is of an authority that the server trusts for that.

TLS has verified the certificate when this method sees its names: `email:`, `uri:` and `dns:` of its subjectAltName, and
`cn:` of its subject last. The first name that a pattern matches as a whole is the principal's, as the pattern's
group has it. Where users are looked up (a password file, a directory), the principal has to be one of them, and has the
groups that it has there.
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
        """Raises :class:`CredentialsRefused`."""
        for name in names:
            for pattern in self.patterns:
                if match := pattern.fullmatch(name):
                    return self._identity(match[1])
        raise CredentialsRefused()

    def ensure_current(self, identity: Identity) -> None:
        """Raise :class:`LogInEnded` if the user is gone or has other groups."""
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
