"""REST catalogs created by statements: the permitted servers, and references to secrets.

    CREATE CATALOG lakehouse USING rest OPTIONS (uri 'https://catalog.example.com/iceberg', credential 'secret:prod')

Statements contain no secret: `secret:<name>` refers to a configured one, with the URLs to which it may be sent. The
server sends requests to no other URL, so users who may create catalogs can neither read a secret nor reach hosts that
only the server can reach.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from catalog.conditions import RestOptionInvalid
from catalog.rest.options import RestOptions

_SECRET = "secret:"
_URL = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.~-]+)*/?", re.ASCII)
_HEADER = "header."
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
_SECRET_HEADERS = re.compile(r"(?i)auth|cookie|secret|token|key|password|credential|signature")
# Headers that determine a request's target or length, or name its origin.
_OWN_HEADERS = re.compile(
    r"(?i)host|content-length|transfer-encoding|connection|te|trailer|upgrade|expect|forwarded|x-forwarded-.*"
)
_OPTIONS = (
    *("uri", "warehouse", "prefix", "scope", "credential", "token", "oauth2-server-uri", "nested"),
    "vended-credentials",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSecret:
    """A configured secret; `urls` are the URL prefixes to which it may be sent."""

    name: str
    value: str = field(repr=False)
    urls: tuple[str, ...]
    ca_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestPolicy:
    """Permitted connections; `urls` are the URL prefixes that catalogs without a secret may use."""

    urls: tuple[str, ...] = ()
    secrets: Mapping[str, RestSecret] = field(default_factory=lambda: MappingProxyType({}))


def options_of(name: str, given: tuple[tuple[str, str], ...], policy: RestPolicy) -> RestOptions:
    """Builds a catalog's connection options from a statement's options. Raises `RestOptionInvalid`, which reveals no
    value.
    """
    said = {key.lower(): value for key, value in given}
    headers = {key.removeprefix(_HEADER): value for key, value in said.items() if key.startswith(_HEADER)}
    for key in said:
        if key not in _OPTIONS and not key.startswith(_HEADER):
            raise RestOptionInvalid(name, key, f"the options are {', '.join(_OPTIONS)} and {_HEADER}<name>")
    for header, value in headers.items():
        if _HEADER_NAME.fullmatch(header) is None or not value.isprintable():
            raise RestOptionInvalid(name, f"{_HEADER}{header}", "it is no header")
        # The statement's text is in the history and in the audit log, where a secret must
        # not be.
        if _SECRET_HEADERS.search(header):
            raise RestOptionInvalid(name, f"{_HEADER}{header}", "it would hold a secret; use token or credential")
        if _OWN_HEADERS.fullmatch(header):
            raise RestOptionInvalid(name, f"{_HEADER}{header}", "requests set it themselves")
    if not is_below(said.get("prefix", "")):
        raise RestOptionInvalid(name, "prefix", "it may not have the segments '.' and '..', which lead elsewhere")
    if "token" in said and "credential" in said:
        raise RestOptionInvalid(name, "token", "there is a credential, and one of them is used")
    secret = _secret(name, said, policy)
    urls = policy.urls if secret is None else secret.urls
    for key in ("uri", "oauth2-server-uri"):
        if key in said or key == "uri":
            _ensure_allowed(name, key, said.get(key, ""), urls, with_secret=secret is not None)
    return RestOptions(
        name=name,
        uri=said["uri"],
        warehouse=said.get("warehouse", ""),
        prefix=said.get("prefix", ""),
        token=secret.value if secret is not None and "token" in said else "",
        credential=secret.value if secret is not None and "credential" in said else "",
        token_url=said.get("oauth2-server-uri", ""),
        scope=said.get("scope", "catalog"),
        ca_file="" if secret is None else secret.ca_file,
        nested=said.get("nested", "false").lower() == "true",
        vended_credentials=said.get("vended-credentials", "false").lower() == "true",
        headers=tuple(headers.items()),
    )


def _secret(name: str, said: Mapping[str, str], policy: RestPolicy) -> RestSecret | None:
    key = next((key for key in ("token", "credential") if key in said), None)
    if key is None:
        return None
    if not said[key].startswith(_SECRET):
        raise RestOptionInvalid(name, key, f"it is a secret: name one that is configured, '{_SECRET}<name>'")
    found = policy.secrets.get(said[key].removeprefix(_SECRET))
    if found is None:
        raise RestOptionInvalid(name, key, "no secret of that name is configured in catalogs.secrets")
    return found


def _ensure_allowed(name: str, key: str, url: str, urls: tuple[str, ...], *, with_secret: bool) -> None:
    if _URL.fullmatch(url) is None or ".." in url.split("/"):
        raise RestOptionInvalid(name, key, "it has to be a URL, https://host/path")
    if not any(f"{url.rstrip('/')}/".startswith(f"{each.rstrip('/')}/") for each in urls):
        place = "the urls of the secret" if with_secret else "catalogs.allowed_urls"
        raise RestOptionInvalid(name, key, f"it is not among {place} in the configuration")
    if with_secret and not is_private(url):
        raise RestOptionInvalid(name, key, "it is no https URL, and would show the secret to the network")


def is_below(path: str) -> bool:
    """Returns True if a path that is appended to a URL stays below it, for servers and proxies that resolve `.` and
    `..`.
    """
    # Some servers treat a backslash as a slash, and decode before they resolve.
    return not any(segment in (".", "..") for segment in unquote(path).replace("\\", "/").split("/"))


def is_private(url: str) -> bool:
    """Returns True if requests to a URL cannot be read on the network: they use TLS, or stay on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
