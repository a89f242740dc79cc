"""The other end of a connection, as far as its transport tells."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Peer:
    """A client at an IP address; `is_encrypted` says that nobody on the way can read what it sends.

    `certificate_names` are those of its certificate, as `gateway/process/tls.py` spells them; none where it showed
    none.
    """

    address: str
    is_encrypted: bool = False
    certificate_names: tuple[str, ...] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        address = _parse(self.address)
        return address is not None and address.is_loopback

    @property
    def client(self) -> str:
        """The addresses that one client has at its disposal: an address of IPv4, a /64 of IPv6."""
        address = _parse(self.address)
        if address is None or address.version == 4:
            return str(address or self.address)
        return str(ipaddress.ip_network((address, 64), strict=False))

    def is_within(self, networks: tuple[str, ...]) -> bool:
        """Whether its address is one of these, or in one of these networks."""
        address = _parse(self.address)
        return address is not None and any(address in ipaddress.ip_network(one, strict=False) for one in networks)


def _parse(text: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
