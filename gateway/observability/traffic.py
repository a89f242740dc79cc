"""Counts of the front ends since the server's start, and what a front end reports when it is asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus

from engine.runtime.metrics import Labels, MetricFamily, MetricKind, counter, family_with_labels

# Codes with a sample from the start, so that rates of the first ones are right.
_ALWAYS = frozenset(HTTPStatus(code) for code in (200, 400, 401, 403, 404, 409, 429, 500, 503))


class Traffic:
    """Failed logins, HTTP responses, open connections and the certificate's expiry. Thread-safe."""

    def __init__(self) -> None:
        # Protocol -> number of open connections.
        self.connections: dict[str, Callable[[], int]] = {}
        # Time in seconds since the epoch; None without a certificate.
        self.certificate_expiry: Callable[[], float] | None = None
        self._lock = threading.Lock()
        self._responses: Counter[int] = Counter()
        self._failed_log_ins = 0

    def add_response(self, status: int) -> None:
        """Counts a response of HTTP by its status."""
        with self._lock:
            self._responses[status] += 1

    def add_failed_log_in(self) -> None:
        """Counts a failed login at any front end."""
        with self._lock:
            self._failed_log_ins += 1

    def families(self) -> Iterator[MetricFamily]:
        """Yields the current metrics."""
        with self._lock:
            responses, failed = Counter(self._responses), self._failed_log_ins
        text = "Failed logins, with any method and protocol."
        yield counter("gateway_login_failures_total", text, failed)
        # Only the codes that HTTP defines, so that the number of samples is bounded.
        sent = [status for status in HTTPStatus if status in _ALWAYS or responses[status]]
        by_code = (({"code": str(status.value)}, responses[status]) for status in sent)
        text = "HTTP responses, Thrift over HTTP included, by their status code."
        yield family_with_labels(MetricKind.COUNTER, "gateway_http_responses_total", text, by_code)
        opened = (({"protocol": protocol}, count()) for protocol, count in tuple(self.connections.items()))
        text = "Open connections of clients, by protocol."
        yield family_with_labels(MetricKind.GAUGE, "gateway_connections", text, opened)
        expiry: list[tuple[Labels, float]] = []
        if self.certificate_expiry is not None:
            expiry.append(({}, self.certificate_expiry()))
        text = "When the server's certificate expires, since the epoch."
        yield family_with_labels(MetricKind.GAUGE, "gateway_certificate_expiry_timestamp_seconds", text, expiry)
