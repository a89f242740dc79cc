"""By which names clients may address the HTTP port."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.http.errors import HostRefused

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


def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if port.isdigit() else host).lower()
