"""Host names by which clients may address the HTTP port, and which pages may send requests to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from catalog.conditions import ForeignPage, HostRefused

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class KnownHosts:
    """The names of this machine's loopback interface, and further ones."""

    def __init__(self, further: Iterable[str] = ()) -> None:
        """`further` may have ports, which do not count."""
        self._names = frozenset(map(_name, (*_LOOPBACK_NAMES, *further))) - {""}

    def ensure_known(self, host: str) -> None:
        """Refuse the name in a Host header that a web page may have pointed at this machine (DNS rebinding)."""
        if _name(host) not in self._names:
            raise HostRefused(host)


def ensure_own_page(site: str | None, origin: str | None, hosts: Collection[str], *, must_be_said: bool) -> None:
    """Raises :class:`ForeignPage` for a request that another site made the browser send.

    `site` is the header Sec-Fetch-Site, `origin` the header Origin, which older browsers send alone; `hosts` are those
    of this server's pages. `must_be_said`: a request without either header is refused as well.
    """
    if site is not None:
        is_own = site in ("same-origin", "none")
    elif origin is not None:
        is_own = _host_of(origin) in {*hosts} - {""}
    else:
        is_own = not must_be_said
    if not is_own:
        raise ForeignPage()


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() else host).lower()
