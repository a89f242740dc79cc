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
        "Accepted methods: anonymous (any user name is accepted without a password; cannot be combined), or "
        "one or more of password (password_file), ldap (a directory, see section ldap), token (personal "
        "access tokens; requires another method), jwt (tokens from an identity provider, see section jwt), "
        "certificate (client certificates, see server.tls_client_authorities).",
        constraint=Constraint(
            f"a list of: {', '.join(_METHODS)}; anonymous alone, and not both password and ldap,", _are_methods
        ),
    )
    password_file: str = setting(
        "", "File with users, written by `delta-gateway users add`, with mode 0600. It is reloaded when it changes."
    )
    token_file: str = setting(
        "",
        "File with personal access tokens, created with the first token. Empty: `tokens.json` in lake.catalog_folder.",
    )
    certificate_names: tuple[str, ...] = setting(
        ("email:(.+)",),
        "Regular expressions that match a whole name in a certificate; the group in the expression is the "
        "user: email:(.+)@example[.]com, uri:spiffe://example/(.+), cn:(.+).",
        constraint=Constraint(
            "a list of regular expressions with one group", lambda names: names and all(map(_has_group, names))
        ),
    )
    proxy_users: Mapping[str, str] = setting(
        {},
        "Users that may act for other users (hive.server2.proxy.user), each with the permitted users and "
        'groups: {hue = "ann, @analysts"}, or "*" for all. Nobody can act for an administrator.',
    )
    proxy_hosts: Mapping[str, str] = setting(
        {},
        'Addresses from which these users may act for others: {hue = "10.1.2.0/24, 10.9.9.9"}; without an '
        "entry, any address.",
        constraint=Constraint("a table of lists of networks", lambda table: all(map(_are_networks, table.values()))),
    )
    admins: tuple[str, ...] = setting(
        (),
        "Users who administer the server: they can manage and grant everything. Names are spelled as in the "
        "password file or the directory. If both an identity provider or certificates and one of these are "
        'used, write "jwt:ann" or "certificate:ann" for their users, because the same name may denote another '
        "person.",
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
        "Servers as ldaps://host or ldap://host, in order of preference. ldap:// requires start_tls, except "
        "on this machine.",
    )
    start_tls: bool = setting(False, "Start TLS on connections to ldap:// URLs before anything else is sent.")
    ca_file: str = setting("", "PEM file with the certificate authorities for the servers; empty: the system's.")
    bind_template: str = setting(
        "",
        "Template for the name with which a user binds, such as uid={},ou=people,dc=example,dc=com or "
        "{}@corp.example. Empty: the entry found by user_filter binds.",
    )
    bind_dn: str = setting("", "DN of the service account that searches for users and groups.")
    bind_password_file: str = setting("", "File with the service account's password, with mode 0600.")
    user_base: str = setting("", "Base DN for users, such as ou=people,dc=example,dc=com.")
    user_filter: str = setting(
        "(&(objectClass=person)(uid={}))",
        "Filter for a user's entry; {} is replaced by the name. Exactly one entry must match.",
    )
    user_attribute: str = setting("uid", "Attribute with the user's name; sAMAccountName in Active Directory.")
    group_base: str = setting("", "Base DN for groups. Empty: users have no groups.")
    group_filter: str = setting(
        "(|(member={dn})(uniqueMember={dn})(memberUid={uid}))",
        "Filter for a user's groups. It is applied to the groups found as well, for nested groups.",
    )
    group_attribute: str = setting("cn", "Attribute with the group's name.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtSection:
    """The identity provider whose tokens are accepted (OpenID Connect), for authentication.methods jwt."""

    issuer: str = setting(
        "",
        "URL of the provider, exactly as in the tokens' `iss` claim. Its metadata and keys are loaded from "
        "this URL over https (or http on this machine).",
    )
    audiences: tuple[str, ...] = setting(
        (),
        "Accepted audiences: a token's `aud` claim must contain one of them. Only with oidc.client_id it may be empty: "
        "then users log in to the console, and no tokens are accepted.",
    )
    algorithms: tuple[str, ...] = setting(
        ("RS256", "ES256"),
        "Accepted signature algorithms.",
        constraint=Constraint(
            f"a list of: {', '.join(_ALGORITHMS)},", lambda names: names and set(names) <= set(_ALGORITHMS)
        ),
    )
    clients: tuple[str, ...] = setting((), "Accepted clients (`azp` claim); empty: all.")
    principal_claims: tuple[str, ...] = setting(
        ("preferred_username", "email", "sub"),
        "Claims with the user's name, in order of preference; `email` is used only if it is verified.",
    )
    groups_claim: str = setting("groups", "Claim with the user's groups; realm_access.roles denotes a nested claim.")
    ca_file: str = setting("", "PEM file with the certificate authorities for the provider; empty: the system's.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSection:
    """The console's login at the identity provider in section jwt (OpenID Connect, authorization code with PKCE)."""

    client_id: str = setting(
        "",
        "Id of the client that is registered at the provider with the redirect URI <server.public_url>/login/callback, "
        "and the post-logout redirect URI <server.public_url>/login. Empty: no login at a provider.",
    )
    client_secret_file: str = setting(
        "", "File with the client's secret, with mode 0600. Empty: a public client, which PKCE protects."
    )
    scopes: tuple[str, ...] = setting(
        ("openid", "profile", "email"),
        "Scopes that a login requests at the provider.",
        constraint=Constraint("a list of scopes with openid", lambda scopes: "openid" in scopes),
    )
    principal_claims: tuple[str, ...] = setting(
        (),
        "Claims with the user's name in ID tokens, in order of preference; empty: jwt.principal_claims. If the first "
        "one is missing in the token, it is requested from the provider's userinfo endpoint.",
    )
    groups_claim: str = setting("", "Claim with the user's groups in ID tokens; empty: jwt.groups_claim.")
    allowed_groups: tuple[str, ...] = setting(
        (), "Groups whose members may log in to the console; empty: all of the provider's users."
    )
    lifetime_s: int = setting(
        43_200, "Time in seconds after which a login ends and the user logs in again.", low=1, high=2_592_000
    )
    label: str = setting("Log in with single sign-on", "Label of the button on the login page.")
