"""Connection options for a REST catalog."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOptions:
    """Connection options. `name` is the catalog's name here. `token` is a bearer token, `credential` an OAuth2 client's
    `id:secret`; at most one is set. `token_url` is the token endpoint, the catalog's own if empty.
    """

    name: str
    uri: str
    warehouse: str = ""
    token: str = ""
    credential: str = ""
    token_url: str = ""
    scope: str = "catalog"
    ca_file: str = ""
    # True if lists include nested namespaces, which takes a request for each namespace.
    nested: bool = False
    timeout_s: float = 30.0
    # Path prefix, if the catalog does not report one.
    prefix: str = ""
    # Headers for each request to the catalog.
    headers: tuple[tuple[str, str], ...] = ()
    # True if the client requests vended credentials for each table's files.
    vended_credentials: bool = False
    # The reason why no request can be sent.
    problem: str = ""

    def __repr__(self) -> str:
        return f"RestOptions(name={self.name!r}, uri={self.uri!r})"
