"""npm's hive-driver, unmodified, over each transport; it is installed once, below `.clients`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import Served
from tests.clients.environments import NODE, node_packages

pytestmark = pytest.mark.clients

SCRIPT = Path(__file__).with_name("hive_driver.js")
# A row with all types; the driver cannot represent the smallest bigint.
TYPES = json.loads(
    """{"bo": true, "ti": -128, "sm": -32768, "i": 2147483647, "b": null, "f": 1.5, "d": 1e10, "dec": -1.5,
        "s": "é \\"q\\" 日本", "bin": {"type": "Buffer", "data": [114, 97, 119]}, "da": "2024-02-29",
        "ts": "2024-07-01 12:00:00.25", "arr": [1, null], "st": {"x": 1, "y": "z"}}"""
)


@pytest.fixture(scope="module")
def modules() -> Path:
    return node_packages("hive-driver", "hive-driver@1.0.0")


@pytest.mark.parametrize(
    "transport",
    [
        pytest.param("sasl", marks=(pytest.mark.slow, pytest.mark.timeout(1800))),
        "nosasl",
        pytest.param("http", marks=pytest.mark.slow),
        pytest.param("https", marks=pytest.mark.slow),
    ],
)
def test_hive_driver_of_node_works_end_to_end(served: Served, modules: Path, transport: str) -> None:
    port = served.port if "sasl" in transport else served.http_port
    authority = str(served.certificate.certificate) if transport == "https" else ""
    count = (
        1_000_000 if transport == "sasl" else 1500
    )  # it fetches a hundred at once, and is busy with them for minutes
    done = subprocess.run(
        [str(NODE), str(SCRIPT), str(port), transport, authority, str(count)],
        env=os.environ | {"NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=1500 if transport == "sasl" else 280,
    )
    assert done.returncode == 0, done.stderr
    one, types, many, error, tables, columns, is_cancelled, limit, *later = map(json.loads, done.stdout.splitlines())
    assert one == [{"1": 1}] and types == TYPES and many == [count, count - 1]
    assert error.startswith("[PARSE_SYNTAX_ERROR.TEST]") and ".java:" not in error
    assert tables == ["t"] and columns == ["i", "s"] and is_cancelled
    assert limit != "ended" and later == [one, one]  # in the same session, and in one on a new connection
