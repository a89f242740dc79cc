"""The authenticator that a configuration asks for, and what is refused at the start.

an address that other machines reach, without authentication or TLS (`listening.py` has the exceptions)
a method without what it needs; anonymous beside another method (`config.py`)
a catalog or a secret below the lake or an allowed root, which are the folders that clients read and write
a file of secrets that others on this machine can read
"""

from __future__ import annotations

import os
from pathlib import Path

from catalog.secret_files import ensure_private
from catalog.tokens import TokenStore
from engine.runtime.identity import Method
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.chain import Chain, Methods, Rules
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.names import fold_name
from gateway.authenticators.password_file import PasswordFile
from gateway.authenticators.tokens import Tokens
from gateway.config import Config, Risk
from gateway.listening import ensure_may_listen
from gateway.start_errors import AuthenticationIncomplete, SecretInLake


def make_authenticator(config: Config, tokens: TokenStore | None = None) -> Authenticator:
    """Raises the error that keeps the server from starting; `tokens` are those of `open_tokens`."""
    section, server = config.authentication, config.server
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
    if server.tls_certificate:
        ensure_private(Path(server.tls_key or server.tls_certificate))
    passwords = _password_method(config)
    return Chain(
        Methods(password=passwords, token=Tokens(tokens, passwords) if tokens else None),
        Rules(
            admins=frozenset(map(fold_name, section.admins)),
            admin_groups=frozenset(map(fold_name, section.admin_groups)),
            takes_plaintext=Risk.CLEARTEXT in server.accepted_risks,
        ),
    )


def _password_method(config: Config) -> PasswordFile | None:
    if Method.PASSWORD not in config.authentication.methods:
        return None
    file = _needed(Method.PASSWORD, "authentication.password_file", config.authentication.password_file)
    return PasswordFile(Path(file))


def token_file(config: Config) -> Path:
    """Where tokens are; nowhere that a client reads."""
    section, lake = config.authentication, config.lake
    file = section.token_file or (f"{lake.catalog_folder}/tokens.json" if "://" not in lake.catalog_folder else "")
    return Path(_needed(Method.TOKEN, "authentication.token_file", file))


def open_tokens(config: Config) -> TokenStore | None:
    """The tokens of a server that takes them."""
    return TokenStore(token_file(config)) if Method.TOKEN in config.authentication.methods else None


def _needed(method: Method, setting: str, value: str) -> str:
    if not value:
        raise AuthenticationIncomplete(method, setting)
    return value


def _ensure_outside_lake(config: Config) -> None:
    lake, section = config.lake, config.authentication
    catalog = lake.catalog_folder or f"{lake.folder.rstrip('/')}/.catalog"
    secrets = {
        "lake.catalog_folder": catalog,
        "authentication.password_file": section.password_file,
        "authentication.token_file": section.token_file,
        "audit.folder": config.audit.folder,
        "server.tls_key": config.server.tls_key or config.server.tls_certificate,
    }
    for setting, path in secrets.items():
        for root in (lake.folder, *lake.allowed_roots):
            if path and root and _is_below(path, root):
                raise SecretInLake(setting, path, root)


def _is_below(path: str, root: str) -> bool:
    """Whether a client who may read what is below `root` may read `path`."""
    if "://" in path or "://" in root:
        return f"{path.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")
    inner, outer = os.path.realpath(path), os.path.realpath(root)
    return os.path.commonpath((inner, outer)) == outer
