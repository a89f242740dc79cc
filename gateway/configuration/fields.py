"""Declarations for settings, and shared rules for values."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on a value beyond its type; `expected` describes it in errors."""

    expected: str
    holds: Callable[[Any], object]


def setting(
    default: Any, doc: str, *, low: float | None = None, high: float | None = None, constraint: Constraint | None = None
) -> Any:
    """Declares a documented setting; `low` and `high` are a number's inclusive bounds."""
    metadata = {"doc": doc, "low": low, "high": high, "constraint": constraint}
    if isinstance(default, Mapping):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def is_network(text: str) -> bool:
    """Returns True for an IPv4 or IPv6 address, or a network in CIDR notation; host bits may be set."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


NETWORKS_CONSTRAINT = Constraint("a list of IP addresses and networks", lambda items: all(map(is_network, items)))
