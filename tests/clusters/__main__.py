"""Kills executors at random points of statements: `python -m tests.clusters`.

Run `python -m tests.clusters [--kind standalone|yarn] [--kills N] [--minutes M] [--seed TEXT]`. Each run is a line in
the results file, and the kills of its lines add up.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.records import Point, append, next_number, summary
from tests.clusters.executor_kills import KillRun
from tests.clusters.spark_cluster import KINDS, stopping
from tests.paths import ROOT
from tests.server_process import ServerProcess

RESULTS = ROOT / "tests" / "bench" / "results" / "executor_kills.txt"


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kind", choices=KINDS, default="standalone")
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--seed", default="")
    options.add_argument("--results", type=Path, default=RESULTS)
    given = options.parse_args(arguments)
    seed = given.seed or secrets.token_hex(4)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills") as name, stopping(KINDS[given.kind](Path(name))) as cluster:
        lake = Path(name) / "lake"
        lake.mkdir()
        server = ServerProcess(Path(name), str(lake), **cluster.settings())
        try:
            run = KillRun(cluster, server, lake, random.Random(seed))
            run.run(given.kills, began + given.minutes * 60)
        finally:
            server.popen.terminate()
            server.end()
    number = next_number(given.results, seed)
    point = Point(seed, number, given.kind, int(time.monotonic() - began), run.counts, tuple(run.violations))
    append(given.results, point)
    print(point.line + summary(given.results))
    return 1 if run.violations else 0


if __name__ == "__main__":
    sys.exit(main())
