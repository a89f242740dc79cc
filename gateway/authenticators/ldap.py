"""The method `ldap`: directory users (RFC 4511), who log in by a bind with their password.

Users are found by one of:

    bind template      the user's DN follows from the name, `uid={},ou=people,dc=example,dc=com`; or, for Active
                       Directory, a name in its domain, `{}@corp.example`
    search             the service account searches for the single entry with that name, and the entry's DN binds on
                       a separate connection

Names are escaped in DNs and filters (RFC 4514, RFC 4515). An empty password, which many servers accept (RFC 4513,
section 5.1.2), is rejected before a request; so are names that `names.py` rejects. The principal is the name as the
directory spells it, since directories treat `ANN` and `ann` as the same user. Connections use TLS with a verified
certificate, or are local.

Groups are the ones with the user as a member, and their parent groups, up to :data:`DEPTH_MAX` levels; a user with more
levels cannot log in, since a group may restrict access. They are looked up at login, and again for open sessions when
they are :data:`GROUPS_GOOD_FOR_S` old.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ldap3
from ldap3.core.exceptions import LDAPException
from ldap3.utils.conv import escape_bytes, escape_filter_chars
from ldap3.utils.dn import escape_rdn

from catalog.conditions import CredentialsRefused, DirectoryUnavailable, LogInEnded, UserNameInvalid
from engine.runtime.identity import Identity, Method
from gateway.authenticators.names import ensure_name, fold_name

logger = logging.getLogger(__name__)

DEPTH_MAX, GROUPS_MAX = 10, 1000
GROUPS_GOOD_FOR_S = 300.0
_TIMEOUT_S = 3
_OUT_S = 30.0
_SUCCESS, _SIZE_LIMIT_EXCEEDED, _NO_SUCH_OBJECT = 0, 4, 32
_OF_PRIMARY_GROUP = ("objectSid", "primaryGroupID")
_SID_BYTES_MIN = 12
# Result codes after which another server is tried.
_BUSY = (51, 52)


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapPolicy:
    """The directory's servers and schema.

    With `bind_template` a login needs no search; groups are then found with the user's own connection, unless there is
    a service account (`bind_dn`).
    """

    urls: tuple[str, ...]
    start_tls: bool = False
    ca_file: str = ""
    bind_template: str = ""
    bind_dn: str = ""
    bind_password: str = field(default="", repr=False)
    user_base: str = ""
    user_filter: str = "(&(objectClass=person)(uid={}))"
    user_attribute: str = "uid"
    group_base: str = ""
    group_filter: str = "(|(member={dn})(uniqueMember={dn})(memberUid={uid}))"
    group_attribute: str = "cn"


@dataclass(frozen=True, slots=True)
class _Entry:
    dn: str
    name: str
    # SID of the user's primary group, whose members Active Directory does not list.
    primary_group: bytes | None = None


class LdapDirectory:
    """A directory. Thread-safe; `clock` is in seconds."""

    generation = 0

    def __init__(self, policy: LdapPolicy, clock: Callable[[], float] = time.monotonic) -> None:
        self._policy = policy
        self._clock = clock
        self._tls = ldap3.Tls(
            validate=ssl.CERT_REQUIRED, ca_certs_file=policy.ca_file or None, version=ssl.PROTOCOL_TLS_CLIENT
        )
        self._lock = threading.Lock()
        self._out_until: dict[str, float] = {}
        self._seen: dict[str, tuple[Identity | None, float]] = {}

    def log_in(self, user: str, password: str) -> Identity:
        """Authenticates a user; raises :class:`CredentialsRefused`, and :class:`DirectoryUnavailable` if no server
        responds.
        """
        try:
            ensure_name(user)
        except UserNameInvalid:
            raise CredentialsRefused() from None
        # RFC 4513, section 5.1.2: a bind with an empty password is unauthenticated, and
        # succeeds on many servers.
        if not password or "\0" in password:
            raise CredentialsRefused()
        identity = self._by_template(user, password) if self._policy.bind_template else self._by_search(user, password)
        self._remember(identity.principal, identity)
        return identity

    def find(self, user: str) -> Identity | None:
        """Returns a user without a login; None also if there is no service account for a search."""
        seen, until = self._seen.get(fold_name(user), (None, 0.0))
        if self._clock() < until:
            return seen
        if not self._policy.bind_dn:
            return None
        with self._service() as connection:
            entry = self._search_user(connection, user)
            found = self._identity(connection, entry) if entry else None
        self._remember(user, found)
        return found

    def ensure_current(self, identity: Identity) -> None:
        """Raises :class:`LogInEnded` if the user is gone or has other groups, provided that an account can look them
        up.
        """
        if not self._policy.bind_dn:
            return
        found = self.find(identity.principal)
        if found is None or found.groups != identity.groups or found.principal != identity.principal:
            raise LogInEnded()

    def _by_template(self, user: str, password: str) -> Identity:
        template = self._policy.bind_template
        if "=" in template:
            name = escape_rdn(user)
        elif any(character in user for character in "@\\/"):
            raise CredentialsRefused()
        else:
            name = user
        with self._own(template.replace("{}", name), password) as own:
            if not self._policy.bind_dn:
                return self._identity_of(own, user)
        with self._service() as connection:
            return self._identity_of(connection, user)

    def _identity_of(self, connection: ldap3.Connection, user: str) -> Identity:
        entry = self._search_user(connection, user)
        if entry is None:
            raise CredentialsRefused()
        return self._identity(connection, entry)

    def _by_search(self, user: str, password: str) -> Identity:
        with self._service() as connection:
            entry = self._search_user(connection, user)
            if entry is None:
                raise CredentialsRefused()
            with self._own(entry.dn, password):
                return self._identity(connection, entry)

    def _search_user(self, connection: ldap3.Connection, user: str) -> _Entry | None:
        """Returns the single entry with that name; None if there are several."""
        # Escaped, or a name like `*` would match other entries.
        text = self._policy.user_filter.replace("{}", escape_filter_chars(user))
        attribute = self._policy.user_attribute
        found = list(_search(connection, self._policy.user_base, text, (attribute, *_OF_PRIMARY_GROUP), limit=2))
        if len(found) != 1:
            if found:
                logger.warning("several entries of the directory have the name %.80r; nobody logs in by it", user)
            return None
        dn, attributes = found[0]
        name = _first(attributes, attribute)
        return None if name is None else _Entry(dn, name, _primary_group(attributes))

    def _identity(self, connection: ldap3.Connection, entry: _Entry) -> Identity:
        try:
            principal = ensure_name(entry.name)
            groups = frozenset(map(ensure_name, self._groups(connection, entry)))
        except UserNameInvalid as error:
            logger.warning("a user of the directory cannot log in: %s", error)
            raise CredentialsRefused() from None
        return Identity(principal, groups, method=Method.LDAP)

    def _groups(self, connection: ldap3.Connection, entry: _Entry) -> set[str]:
        """Finds groups level by level; each group is expanded once, so cycles end."""
        policy = self._policy
        if not policy.group_base:
            return set()
        names: dict[str, str] = {}
        level = [entry]
        for _ in range(DEPTH_MAX):
            above: list[_Entry] = []
            for member in level:
                text = policy.group_filter.replace("{dn}", escape_filter_chars(member.dn))
                # `memberUid` holds users' names; a group with a user's name must not match
                # as a member, and no name contains a NUL.
                text = text.replace("{uid}", escape_filter_chars(member.name) if member is entry else "\\00")
                if member.primary_group is not None:
                    text = f"(|{text}(objectSid={escape_bytes(member.primary_group)}))"
                for dn, attributes in _search(connection, policy.group_base, text, (policy.group_attribute,)):
                    name = _first(attributes, policy.group_attribute)
                    if dn not in names and name is not None:
                        names[dn] = name
                        above.append(_Entry(dn, name))
            if len(names) > GROUPS_MAX:
                logger.warning("%.80r is in more than %d groups", entry.dn, GROUPS_MAX)
                raise CredentialsRefused()
            if not above:
                return set(names.values())
            level = above
        logger.warning("%.80r is in groups of groups more than %d levels deep", entry.dn, DEPTH_MAX)
        raise CredentialsRefused()

    def _remember(self, user: str, identity: Identity | None) -> None:
        with self._lock:
            if len(self._seen) > 10_000:
                self._seen.clear()
            self._seen[fold_name(user)] = identity, self._clock() + GROUPS_GOOD_FOR_S

    @contextmanager
    def _service(self) -> Iterator[ldap3.Connection]:
        """Opens a connection for the service account."""
        try:
            connection = self._open(self._policy.bind_dn, self._policy.bind_password)
        except _BindRefused:
            raise DirectoryUnavailable("the service account is refused") from None
        with _close_after(connection):
            yield connection

    @contextmanager
    def _own(self, dn: str, password: str) -> Iterator[ldap3.Connection]:
        """Opens a user's connection, which verifies the password."""
        try:
            connection = self._open(dn, password)
        except _BindRefused:
            raise CredentialsRefused() from None
        with _close_after(connection):
            yield connection

    def _open(self, dn: str, password: str) -> ldap3.Connection:
        """Returns a bound connection to the first server that responds. Raises :class:`DirectoryUnavailable`."""
        reason = "no server is configured"
        for url in self._in_order():
            connection = self._connection(url, dn, password)
            try:
                connection.open(read_server_info=False)
                if self._policy.start_tls and not connection.start_tls(read_server_info=False):
                    raise LDAPException("StartTLS is refused")
                is_bound = connection.bind(read_server_info=False)
            except (LDAPException, OSError) as error:
                reason = f"{url}: {type(error).__name__}"
                logger.warning("the directory %s does not answer: %.200s", url, error)
                # A server that does not answer costs each login its timeout; it is tried
                # last for a while.
                self._out_until[url] = self._clock() + _OUT_S
                _close(connection)
                continue
            if is_bound:
                return connection
            code = connection.result["result"]
            message = connection.result.get("message")
            logger.info("a bind was refused with code %s: %.200s", code, message)  # locked, expired: only for the log
            _close(connection)
            if code not in _BUSY:
                raise _BindRefused()
            reason = f"{url}: code {code}"
        raise DirectoryUnavailable(reason)

    def _in_order(self) -> Sequence[str]:
        """Returns the servers, with recently unreachable ones last."""
        now = self._clock()
        return sorted(self._policy.urls, key=lambda url: self._out_until.get(url, 0.0) > now)

    def _connection(self, url: str, dn: str, password: str) -> ldap3.Connection:
        server = ldap3.Server(url, tls=self._tls, get_info=ldap3.NONE, connect_timeout=_TIMEOUT_S)
        return ldap3.Connection(
            server,
            user=dn,
            password=password,
            receive_timeout=_TIMEOUT_S,
            # A referral would send the password to a server that the configuration does not
            # name.
            auto_referrals=False,
            read_only=True,
            raise_exceptions=False,
        )


class _BindRefused(Exception):
    """The password is wrong, or the account may not log in."""


@contextmanager
def _close_after(connection: ldap3.Connection) -> Iterator[None]:
    """Closes the connection after the block, and converts its failures to the directory's."""
    try:
        yield
    except (LDAPException, OSError) as error:
        raise DirectoryUnavailable(type(error).__name__) from error
    finally:
        _close(connection)


def _search(
    connection: ldap3.Connection, base: str, text: str, attributes: Sequence[str], limit: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields DN and attributes for each entry, at most `limit` entries (0: all).

    Raises :class:`DirectoryUnavailable` if a search is rejected, or exceeds the server's result limit: a user whose
    access a group restricts must not lose that group.
    """
    connection.search(base, text, attributes=list(attributes), size_limit=limit, time_limit=_TIMEOUT_S)
    code = connection.result["result"]
    if code not in (_SUCCESS, _NO_SUCH_OBJECT) and not (limit and code == _SIZE_LIMIT_EXCEEDED):
        raise DirectoryUnavailable(f"a search ended with code {code}")
    for entry in connection.response or ():
        if entry.get("type") == "searchResEntry":
            found: dict[str, Any] = entry["attributes"]
            for name in _OF_PRIMARY_GROUP:  # compared as bytes, regardless of their text decoding
                found[name] = entry["raw_attributes"].get(name)
            yield entry["dn"], found


def _first(attributes: dict[str, Any], name: str) -> str | None:
    """Returns an attribute's first value, if it is a text."""
    values = attributes.get(name)
    value = values[0] if isinstance(values, list) and values else values
    return value if isinstance(value, str) else None


def _primary_group(attributes: dict[str, Any]) -> bytes | None:
    """Returns the primary group's SID: the user's with another last part (Microsoft's MS-DTYP, section 2.4.2.2: 32
    bits, little-endian).
    """
    sids, ids = (attributes.get(name) or [b""] for name in _OF_PRIMARY_GROUP)
    sid, number = bytes(sids[0]), bytes(ids[0])
    if len(sid) < _SID_BYTES_MIN or len(sid) != 8 + 4 * sid[1] or not number.isdigit() or int(number) >= 1 << 32:
        return None
    return sid[:-4] + int(number).to_bytes(4, "little")


def _close(connection: ldap3.Connection) -> None:
    try:
        connection.unbind()
    except (LDAPException, OSError):
        logger.debug("a connection to the directory was gone already")
