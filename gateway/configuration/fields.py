"""How a setting is declared, and rules for values that several have."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be beyond its type; `expected` says it in the error for one that is not."""

    expected: str
    holds: Callable[[Any], object]


def setting(
    default: Any, doc: str, *, low: float | None = None, high: float | None = None, rule: Rule | None = None
) -> Any:
    """A documented setting; `low` and `high` bound a number, both inclusive."""
    metadata = {"doc": doc, "low": low, "high": high, "rule": rule}
    if isinstance(default, Mapping):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


NETWORKS_RULE = Rule("a list of IP addresses and networks", lambda items: all(map(is_network, items)))
