"""How often a commit to a table is tried, by its properties; what they do not say is as for every table.

Source: Iceberg documentation, "Configuration", "Table behavior properties".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.concurrency.retry import RetryPolicy

NUM_RETRIES = "commit.retry.num-retries"
MIN_WAIT_MS = "commit.retry.min-wait-ms"
MAX_WAIT_MS = "commit.retry.max-wait-ms"
TOTAL_TIMEOUT_MS = "commit.retry.total-timeout-ms"
_DIGITS_MAX = 18
"""Of a number of 64 bits that surely fits."""


def retries_of(properties: Mapping[str, str], policy: RetryPolicy) -> RetryPolicy:
    """`policy` with what the properties say. A value that is no whole number of 64 bits says nothing."""

    def said(key: str) -> int | None:
        text = properties.get(key, "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX else None

    retries, shortest, longest, total = map(said, (NUM_RETRIES, MIN_WAIT_MS, MAX_WAIT_MS, TOTAL_TIMEOUT_MS))
    return replace(
        policy,
        rebases_max=policy.rebases_max if retries is None else retries + 1,
        pause_min_s=policy.pause_min_s if shortest is None else shortest / 1000,
        pause_max_s=policy.pause_max_s if longest is None else longest / 1000,
        rebase_pause_max_s=max(policy.rebase_pause_max_s, (shortest or 0) / 1000)
        if longest is None
        else longest / 1000,
        rebase_s_max=policy.rebase_s_max if total is None else total / 1000,
    )
