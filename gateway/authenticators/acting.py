"""Impersonation: programs with many users (Hue, Superset) log in as themselves and name their user.

The user is named once, when a session is opened (`hive.server2.proxy.user`). The session has only that user's rights,
and records the program's own identity. Impersonation of administrators is forbidden, and so is chained impersonation.
If users are looked up (in a password file or a directory), the named user must exist there, and has the groups from
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from catalog.conditions import ProxyUserNotAllowed
from engine.runtime.identity import Identity, Scope
from gateway.authenticators.names import UserDirectory, ensure_name, fold_name
from gateway.authenticators.peer import Peer


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPolicy:
    """A program's permission: for these users and the members of these groups, from these networks (empty: any)."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    is_for_all: bool = False
    networks: tuple[str, ...] = ()

    @classmethod
    def parse(cls, users: str, networks: str) -> ProxyPolicy:
        """Parses a rule; `users` is a list with names, @groups, or *."""
        names = [name.strip() for name in users.split(",") if name.strip()]
        return cls(
            users=frozenset(fold_name(name) for name in names if not name.startswith("@") and name != "*"),
            groups=frozenset(fold_name(name[1:]) for name in names if name.startswith("@")),
            is_for_all="*" in names,
            networks=tuple(network.strip() for network in networks.split(",") if network.strip()),
        )

    def allows(self, user: Identity, peer: Peer) -> bool:
        """Returns True if the program may act as `user` from the peer's address. Names are compared in folded case."""
        if self.networks and not peer.is_within(self.networks):
            return False
        is_member = not self.groups.isdisjoint(map(fold_name, user.groups))
        return self.is_for_all or is_member or fold_name(user.principal) in self.users


@dataclass(frozen=True, slots=True)
class Acting:
    """Impersonation rules by the folded name of the program's user."""

    policies: Mapping[str, ProxyPolicy] = field(default_factory=dict)
    directory: UserDirectory | None = None

    def identity(self, own: Identity, user: str, peer: Peer) -> Identity:
        """Returns the identity of `user`, impersonated by `own`, without rights that require the user's own login.
        Raises :class:`ProxyUserNotAllowed`, also for a user who does not exist.
        """
        policy = self.policies.get(fold_name(own.principal))
        if policy is None or own.real_user is not None or Scope.SQL not in own.scopes:
            raise ProxyUserNotAllowed(own.principal, user)
        found = self.directory.find(user) if self.directory else Identity(ensure_name(user))
        if found is None or not policy.allows(found, peer):
            raise ProxyUserNotAllowed(own.principal, user)
        return replace(own, principal=found.principal, groups=found.groups, is_admin=False, real_user=own.principal)
