"""The results file of the soak: changes of sizes, and sums over all runs."""

from __future__ import annotations

from tests.soak.__main__ import recorded_sums
from tests.soak.sizes import SIZES, changes


def test_change_of_each_size_is_in_percent() -> None:
    begin, end = dict.fromkeys(SIZES, 200), dict.fromkeys(SIZES, 201)
    assert changes(begin, end).startswith("java live heap 200→201 KiB (+0.5 %), java metaspace 200→201 KiB (+0.5 %)")
    assert changes(begin, begin).endswith("sockets 200→200 (+0.0 %)")


def test_statements_and_connections_of_all_runs_add_up() -> None:
    lines = "s1\tmixed\tok\tstatements 120, connections 7 (api 3)\ns2\tidle\tok\tstatements 24, connections 12; idle\n"
    assert recorded_sums(lines) == "recorded in all: 144 statements, 19 connections"
