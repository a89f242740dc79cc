"""The URL by which a client reached a trusted proxy in front of this server: the X-Forwarded headers.

X-Forwarded-Proto, -Host and -Prefix are used for links in responses; each header's last value counts, because the
trusted proxy wrote it. X-Forwarded-For is not used: login permissions depend on the connecting peer, which is the
proxy. From all other addresses these headers are ignored, since any client can send them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from werkzeug.middleware.proxy_fix import ProxyFix

from gateway.http.wsgi import Application


class Forwarded:
    """Wraps `application`; uses the proxy's URL for requests from one of `proxies`."""

    def __init__(self, application: Application, proxies: Sequence[str]) -> None:
        """Wraps an application; `proxies` are addresses or networks, such as 10.0.0.0/8."""
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
