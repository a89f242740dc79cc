"""Creates the configured authenticator, and rejects unsafe configurations at startup.

- an address that other machines can reach, without authentication or TLS (`listening.py` has the exceptions)
- a method without its required settings; settings for an unused method; anonymous with another method (`config.py`)
- a catalog or a secret below the lake or an allowed root, which clients read and write
- a secret file that other users on this machine can read
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from catalog.conditions import AuthenticationIncomplete, AuthenticationNotUsed, DirectoryInTheClear, SecretInLake
from catalog.grants.tokens import TokenStore
from catalog.secret_files import ensure_private, make_private_folder, read_secret
from engine.runtime.identity import Method
from gateway.authenticators.acting import Acting, ProxyPolicy
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.certificates import Certificates
from gateway.authenticators.chain import Chain, ChainPolicy, Methods, PasswordMethod
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.issuer import Issuer
from gateway.authenticators.jwt import JwtPolicy, JwtTokens
from gateway.authenticators.ldap import LdapDirectory, LdapPolicy
from gateway.authenticators.names import fold_name
from gateway.authenticators.oidc import Oidc, OidcPolicy
from gateway.authenticators.password_file import PasswordFile
from gateway.authenticators.tokens import Tokens
from gateway.configuration.authentication import OidcSection
from gateway.configuration.config import Config, Risk
from gateway.configuration.reloads import OnReload, ignore_reload
from gateway.process.listening import ensure_may_listen, is_loopback


def make_authenticator(
    config: Config,
    tokens: TokenStore | None = None,
    issuer: Issuer | None = None,
    on_reload: OnReload = ignore_reload,
) -> Authenticator:
    """Returns the authenticator; raises the error that prevents startup. `tokens` come from `open_tokens`, and `issuer`
    from `open_issuer`.
    """
    section, server = config.authentication, config.server
    _ensure_used(config)
    authenticates = Method.ANONYMOUS not in section.methods
    ensure_may_listen(
        server.host,
        authenticates=authenticates,
        encrypts=bool(server.tls_certificate),
        risks=server.accepted_risks,
    )
    if not authenticates:
        return Anonymous(is_open=Risk.ANYBODY in server.accepted_risks)
    _ensure_outside_lake(config)
    if "://" not in config.lake.catalog_folder:
        make_private_folder(Path(config.lake.catalog_folder))  # it contains grants
    if server.tls_certificate:
        ensure_private(Path(server.tls_key or server.tls_certificate))
    passwords = _password_method(config, on_reload)
    jwt = JwtTokens(_jwt_policy(config), issuer) if issuer else None
    methods = Methods(
        password=passwords,
        token=Tokens(tokens, passwords) if tokens else None,
        jwt=jwt,
        certificate=_certificates(config, passwords),
    )
    return Chain(
        methods,
        ChainPolicy(
            admins=frozenset(section.admins),
            admin_groups=frozenset(map(fold_name, section.admin_groups)),
            takes_plaintext=Risk.CLEARTEXT in server.accepted_risks,
        ),
        Acting(_proxy_policies(config), passwords),
    )


def _ensure_used(config: Config) -> None:
    """Raises `AuthenticationNotUsed` for settings whose method is not in `authentication.methods`."""
    section = config.authentication
    settings = (
        ("authentication.password_file", section.password_file, Method.PASSWORD),
        ("authentication.token_file", section.token_file, Method.TOKEN),
        ("jwt.issuer", config.jwt.issuer, Method.JWT),
        ("oidc.client_id", config.oidc.client_id, Method.JWT),
        ("ldap.urls", config.ldap.urls, Method.LDAP),
    )
    for name, value, method in settings:
        if value and method not in section.methods:
            raise AuthenticationNotUsed(name, method)


def _password_method(config: Config, on_reload: OnReload) -> PasswordMethod | None:
    if Method.LDAP in config.authentication.methods:
        return LdapDirectory(_ldap_policy(config))
    if Method.PASSWORD not in config.authentication.methods:
        return None
    file = _require_setting(Method.PASSWORD, "authentication.password_file", config.authentication.password_file)
    return PasswordFile(Path(file), on_reload=on_reload)


def _certificates(config: Config, users: PasswordMethod | None) -> Certificates | None:
    if Method.CERTIFICATE not in config.authentication.methods:
        return None
    _require_setting(Method.CERTIFICATE, "server.tls_certificate", config.server.tls_certificate)
    _require_setting(Method.CERTIFICATE, "server.tls_client_authorities", config.server.tls_client_authorities)
    return Certificates(tuple(map(re.compile, config.authentication.certificate_names)), users)


def _proxy_policies(config: Config) -> dict[str, ProxyPolicy]:
    section = config.authentication
    hosts = {fold_name(name): networks for name, networks in section.proxy_hosts.items()}
    proxies = {
        fold_name(name): ProxyPolicy.parse(users, hosts.pop(fold_name(name), ""))
        for name, users in section.proxy_users.items()
    }
    if hosts:
        raise AuthenticationIncomplete(f"of {next(iter(hosts))} in proxy_hosts", "authentication.proxy_users")
    return proxies


def _ldap_policy(config: Config) -> LdapPolicy:
    """Builds the directory's rules; raises for a directory without encryption, or one that cannot be searched."""
    section = config.ldap
    for url in section.urls or [_require_setting(Method.LDAP, "ldap.urls", "")]:
        parts = urlsplit(url)
        is_safe = parts.scheme == "ldaps" or section.start_tls or (parts.hostname and is_loopback(parts.hostname))
        if parts.scheme not in ("ldap", "ldaps") or not is_safe:
            raise DirectoryInTheClear(url)
    _require_setting(Method.LDAP, "ldap.user_base", section.user_base)
    password = ""
    if section.bind_dn or not section.bind_template:
        _require_setting(Method.LDAP, "ldap.bind_dn", section.bind_dn)
        file = _require_setting(Method.LDAP, "ldap.bind_password_file", section.bind_password_file)
        password = read_secret(Path(file)).decode("utf-8", "replace").rstrip("\r\n")
        _require_setting(Method.LDAP, "a password in ldap.bind_password_file", password)
    return LdapPolicy(
        urls=section.urls,
        start_tls=section.start_tls,
        ca_file=section.ca_file,
        bind_template=section.bind_template,
        bind_dn=section.bind_dn,
        bind_password=password,
        user_base=section.user_base,
        user_filter=section.user_filter,
        user_attribute=section.user_attribute,
        group_base=section.group_base,
        group_filter=section.group_filter,
        group_attribute=section.group_attribute,
    )


def token_file(config: Config) -> Path:
    """Returns the token file's path, outside all folders that clients read."""
    section, lake = config.authentication, config.lake
    is_local = lake.catalog_folder and "://" not in lake.catalog_folder
    file = section.token_file or (f"{lake.catalog_folder}/tokens.json" if is_local else "")
    return Path(_require_setting(Method.TOKEN, "authentication.token_file", file))


def open_tokens(config: Config) -> TokenStore | None:
    """Opens the tokens if the server accepts them."""
    return TokenStore(token_file(config)) if Method.TOKEN in config.authentication.methods else None


def open_issuer(config: Config) -> Issuer | None:
    """Opens the identity provider if the server accepts its tokens; fetches its keys."""
    if Method.JWT not in config.authentication.methods:
        return None
    return Issuer(_require_setting(Method.JWT, "jwt.issuer", config.jwt.issuer), ca_file=config.jwt.ca_file)


def open_oidc(config: Config, issuer: Issuer | None, authenticator: Authenticator) -> Oidc | None:
    """Returns the console's login at the identity provider, if one is configured."""
    section = config.oidc
    if not section.client_id:
        if section != OidcSection():
            raise AuthenticationIncomplete(Method.JWT, "oidc.client_id")
        return None
    assert issuer and isinstance(authenticator, Chain)  # `oidc.client_id` requires the method jwt
    secret = ""
    if section.client_secret_file:
        secret = read_secret(Path(section.client_secret_file)).decode("utf-8", "replace").strip()
        _require_setting(Method.JWT, "a secret in oidc.client_secret_file", secret)
    tokens = replace(
        _jwt_policy(config),
        audiences=(section.client_id,),
        clients=(),
        principal_claims=section.principal_claims or config.jwt.principal_claims,
        groups_claim=section.groups_claim or config.jwt.groups_claim,
    )
    policy = OidcPolicy(
        client_id=section.client_id,
        tokens=tokens,
        client_secret=secret,
        scopes=section.scopes,
        allowed_groups=frozenset(map(fold_name, section.allowed_groups)),
        lifetime_s=section.lifetime_s,
        label=section.label,
    )
    return Oidc(policy, issuer, authenticator)


def _jwt_policy(config: Config) -> JwtPolicy:
    section = config.jwt
    if not section.audiences and not config.oidc.client_id:
        raise AuthenticationIncomplete(Method.JWT, "jwt.audiences")
    return JwtPolicy(
        issuer=section.issuer,
        audiences=section.audiences,
        algorithms=section.algorithms,
        clients=section.clients,
        principal_claims=section.principal_claims,
        groups_claim=section.groups_claim,
    )


def _require_setting(method: Method, setting: str, value: str) -> str:
    if not value:
        raise AuthenticationIncomplete(method, setting)
    return value


def _ensure_outside_lake(config: Config) -> None:
    lake, section = config.lake, config.authentication
    secrets = {
        "lake.catalog_folder": config.catalog_folder,
        "authentication.password_file": section.password_file,
        "ldap.bind_password_file": config.ldap.bind_password_file,
        "oidc.client_secret_file": config.oidc.client_secret_file,
        "authentication.token_file": section.token_file,
        "audit.folder": config.audit.folder,
        "audit.signing_key": config.audit.signing_key,
        "audit.heads_file": config.audit.heads_file,
        "lineage.folder": config.lineage.folder,
        "state.folder": config.state_folder,
        "lineage.token_file": config.lineage.token_file,
        "server.tls_key": config.server.tls_key or config.server.tls_certificate,
    }
    for setting, path in secrets.items():
        for root in (lake.folder, *lake.allowed_roots):
            if path and root and _is_below(path, root):
                raise SecretInLake(setting, path, root)


def _is_below(path: str, root: str) -> bool:
    """Returns True if a client that may read below `root` may read `path`."""
    if "://" in path or "://" in root:
        return f"{path.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")
    inner, outer = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath((inner, outer)) == outer
