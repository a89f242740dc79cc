"""What a server is told of a REST catalog: where it is, and how it is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOptions:
    """`name` is that of the catalog here. `token` is a bearer token, `credential` an OAuth2 client's `id:secret`, of
    which one is empty or both are; `token_url` is where tokens are given, the catalog itself if empty.
    """

    name: str
    uri: str
    warehouse: str = ""
    token: str = ""
    credential: str = ""
    token_url: str = ""
    scope: str = "catalog"
    ca_file: str = ""
    nested: bool = False
    """Namespaces inside of others are listed too, which takes a request for each namespace."""
    timeout_s: float = 30.0
    prefix: str = ""
    """Of paths, where the catalog does not say one."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with each request to the catalog."""
    vended_credentials: bool = False
    """Whether the catalog is asked for credentials for the files of each table."""
    problem: str = ""
    """Why nothing can be sent."""

    def __repr__(self) -> str:
        return f"RestOptions(name={self.name!r}, uri={self.uri!r})"
