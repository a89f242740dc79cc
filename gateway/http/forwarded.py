"""Under which URL a client reached a proxy in front of this server: the X-Forwarded headers of a proxy that is trusted.

X-Forwarded-Proto, -Host and -Prefix go into the links that answers have; each counts with its last value, which is the
one that the trusted proxy wrote. X-Forwarded-For is not used: who may log in depends on who connects, which is the
proxy. From all other addresses these headers mean nothing, since any client can send them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from werkzeug.middleware.proxy_fix import ProxyFix

from gateway.http.wsgi import Application


class Forwarded:
    """`application` with the URL of the proxy, for requests that come from one of `proxies`."""

    def __init__(self, application: Application, proxies: Sequence[str]) -> None:
        """`proxies` are addresses or networks, such as 10.0.0.0/8."""
        self._application = application
        self._behind_proxy = ProxyFix(application, x_for=0, x_proto=1, x_host=1, x_prefix=1)
        self._networks = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]

    def __call__(self, environment: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        is_trusted = self._trusts(environment.get("REMOTE_ADDR", ""))
        return (self._behind_proxy if is_trusted else self._application)(environment, start_response)

    def _trusts(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:
            return False
        return any(address in network for network in self._networks)
