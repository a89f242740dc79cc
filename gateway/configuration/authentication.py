"""Settings for authentication: passwords, a directory, an identity provider, certificates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.runtime.identity import Method
from gateway.configuration.fields import Constraint, is_network, setting

_METHODS = (Method.ANONYMOUS, Method.PASSWORD, Method.LDAP, Method.TOKEN, Method.JWT, Method.CERTIFICATE)
# Signature algorithms with public keys.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")


def _are_methods(names: tuple[str, ...]) -> bool:
    is_alone = (Method.ANONYMOUS not in names or len(names) == 1) and not {Method.PASSWORD, Method.LDAP} <= set(names)
    return bool(names) and is_alone and set(names) <= set(_METHODS) and len(set(names)) == len(names)


def _has_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups == 1
    except re.error:
        return False


def _is_admin(name: str) -> bool:
    method, colon, user = name.rpartition(":")
    return bool(user) and (not colon or method in (Method.JWT, Method.CERTIFICATE))


def _are_networks(text: str) -> bool:
    return all(is_network(one.strip()) for one in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationSection:
    """Authentication of clients."""

    methods: tuple[str, ...] = setting(
        (Method.ANONYMOUS,),
        "Those that are accepted: anonymous (any name is believed, and nobody else is kept out; alone), or some of "
        "password (password_file) or ldap (a directory: section ldap), token (personal access tokens, beside another), "
        "jwt (tokens of an identity provider: section jwt), certificate (of a client: server.tls_client_authorities).",
        constraint=Constraint(
            f"a list of: {', '.join(_METHODS)}; anonymous alone, and not both password and ldap,", _are_methods
        ),
    )
    password_file: str = setting(
        "", "File of users, made by `delta-gateway users add`; of the mode 0600. It is read again when it changes."
    )
    token_file: str = setting(
        "", "File of personal access tokens; made with the first one. Empty: `tokens.json` in lake.catalog_folder."
    )
    certificate_names: tuple[str, ...] = setting(
        ("email:(.+)",),
        "Regular expressions that a name of a certificate has to match as a whole, and whose group is the user: "
        "email:(.+)@example[.]com, uri:spiffe://example/(.+), cn:(.+).",
        constraint=Constraint(
            "a list of regular expressions with one group", lambda names: names and all(map(_has_group, names))
        ),
    )
    proxy_users: Mapping[str, str] = setting(
        {},
        'Programs that may act for others by hive.server2.proxy.user, and for whom: {hue = "ann, @analysts"}, or "*" '
        "for everybody. Administrators are nobody's to act for.",
    )
    proxy_hosts: Mapping[str, str] = setting(
        {},
        'Where they do so from: {hue = "10.1.2.0/24, 10.9.9.9"}; from anywhere without an entry.',
        constraint=Constraint("a table of lists of networks", lambda table: all(map(_are_networks, table.values()))),
    )
    admins: tuple[str, ...] = setting(
        (),
        "Users who administer the server: they manage and grant everything. Spelled as in the password file or the "
        'directory; users of an identity provider or of certificates beside one are "jwt:ann" and "certificate:ann", '
        "since the provider's ann may be somebody else.",
        constraint=Constraint(
            "a list of users, also after jwt: or certificate:,", lambda names: all(map(_is_admin, names))
        ),
    )
    admin_groups: tuple[str, ...] = setting((), "Groups whose members administer the server.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapSection:
    """The user directory, for authentication.methods ldap."""

    urls: tuple[str, ...] = setting(
        (),
        "Servers, ldaps://host or ldap://host, in this order. ldap:// needs start_tls, but for one on this machine.",
    )
    start_tls: bool = setting(False, "Whether connections to ldap:// URLs begin TLS before anything else.")
    ca_file: str = setting("", "PEM file with the authorities of the servers' certificates; empty: the system's.")
    bind_template: str = setting(
        "",
        "How the name of a user becomes what binds: uid={},ou=people,dc=example,dc=com, or {}@corp.example. Empty: the "
        "entry that user_filter finds binds.",
    )
    bind_dn: str = setting("", "DN of the service account that searches for users and groups.")
    bind_password_file: str = setting("", "File with its password; of the mode 0600.")
    user_base: str = setting("", "Where users are: ou=people,dc=example,dc=com.")
    user_filter: str = setting(
        "(&(objectClass=person)(uid={}))", "Which entry is a user's; {} is the name, which must be of one entry only."
    )
    user_attribute: str = setting("uid", "Attribute that names the user here; sAMAccountName in Active Directory.")
    group_base: str = setting("", "Where groups are. Empty: users have none.")
    group_filter: str = setting(
        "(|(member={dn})(uniqueMember={dn})(memberUid={uid}))",
        "Which groups a user is in; also asked of the groups found, for those that they are in.",
    )
    group_attribute: str = setting("cn", "Attribute that names a group here.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtSection:
    """The identity provider whose tokens are accepted (OpenID Connect), for authentication.methods jwt."""

    issuer: str = setting(
        "",
        "URL of the provider, exactly as its tokens have it in `iss`. Its metadata and keys are fetched from below it, "
        "over https (or http from this machine).",
    )
    audiences: tuple[str, ...] = setting((), "What `aud` of a token has to have one of: names of this server.")
    algorithms: tuple[str, ...] = setting(
        ("RS256", "ES256"),
        "Algorithms of signatures that are accepted.",
        constraint=Constraint(
            f"a list of: {', '.join(_ALGORITHMS)},", lambda names: names and set(names) <= set(_ALGORITHMS)
        ),
    )
    clients: tuple[str, ...] = setting((), "Clients (`azp`) whose tokens are accepted; empty: those of any.")
    principal_claims: tuple[str, ...] = setting(
        ("preferred_username", "email", "sub"),
        "Claims that name the user; the first one that a token has counts, and `email` only if it is verified.",
    )
    groups_claim: str = setting("groups", "Claim with the user's groups; realm_access.roles is one inside of another.")
    ca_file: str = setting("", "PEM file with the authorities of the provider's certificate; empty: the system's.")
