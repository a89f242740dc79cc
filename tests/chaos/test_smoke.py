"""One point of each harness, against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.__main__ import main
from tests.chaos.records import points

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.timeout(900)]


def test_killed_gateway_loses_and_doubles_no_row(tmp_path: Path) -> None:
    file = tmp_path / "chaos.txt"
    clients = ["http writer", "hs2 reader"]
    code = main(
        ["--seed", "smoke", "--points", "1", "--kinds", "kill-gateway", "--results", str(file), "--clients", *clients]
    )
    ((_, _, kind, _, outcome, counts),) = points(file)
    assert (code, kind, outcome) == (0, "kill-gateway", "ok")
    assert "outcome succeeded" in counts and "pages" in counts
