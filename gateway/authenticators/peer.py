"""The client's side of a connection, as its transport reports it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Peer:
    """A client at an IP address; `is_encrypted` means that nobody on the network can read its messages.

    `certificate_names` are its certificate's names, as `gateway/process/tls.py` spells them; empty without a
    certificate. `end_point` is the connection's channel binding `tls-server-end-point` (RFC 5929), if it has one.
    """

    address: str
    is_encrypted: bool = False
    certificate_names: tuple[str, ...] = ()
    end_point: bytes = b""

    @property
    def is_loopback(self) -> bool:
        """Returns True for a client on this machine."""
        address = _parse(self.address)
        return address is not None and address.is_loopback

    @property
    def client(self) -> str:
        """Returns the address range that one client controls: an IPv4 address, an IPv6 /64."""
        address = _parse(self.address)
        if address is None or address.version == 4:
            return str(address or self.address)
        # A /64 is the smallest network that providers give a customer, who can use all of
        # its addresses.
        return str(ipaddress.ip_network((address, 64), strict=False))

    def is_within(self, networks: tuple[str, ...]) -> bool:
        """Returns True if its address equals one of these, or is in one of these networks."""
        address = _parse(self.address)
        return address is not None and any(address in ipaddress.ip_network(one, strict=False) for one in networks)


def _parse(text: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    # A socket for both versions reports IPv4 clients as `::ffff:a.b.c.d`, which belong to
    # no IPv4 network in the configuration.
    return getattr(address, "ipv4_mapped", None) or address
