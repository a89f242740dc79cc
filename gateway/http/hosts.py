"""Permitted host names for the HTTP port, and permitted origin pages for requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from catalog.conditions import ForeignPage, HostRefused

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class KnownHosts:
    """The names for this machine's loopback interface, and additional ones."""

    def __init__(self, further: Iterable[str] = ()) -> None:
        """Creates the names; ports in `further` are ignored."""
        self._names = frozenset(map(_name, (*_LOOPBACK_NAMES, *further))) - {""}

    def ensure_known(self, host: str) -> None:
        """Rejects a Host header with a name that a web page may have pointed at this machine (DNS rebinding)."""
        if _name(host) not in self._names:
            raise HostRefused(host)


def ensure_own_page(site: str | None, origin: str | None, hosts: Collection[str], *, must_be_said: bool) -> None:
    """Raises :class:`ForeignPage` for a request that another site made the browser send.

    `site` is the header Sec-Fetch-Site, `origin` the header Origin, which older browsers send alone; `hosts` are this
    server's page hosts. `must_be_said`: a request without either header is rejected as well.
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
