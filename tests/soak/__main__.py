"""Load for a long time, and what it leaves in the server's processes: `python -m tests.soak`.

Run `python -m tests.soak [--case mixed|groups|pause|idle|unread] [--minutes M] [--seed TEXT] [--clients N]`. Each run
is a line in the results file; the statements and connections of its lines add up. The seed `anonymous` has no users,
other seeds have logins by password, access token and JWT.

- mixed: the statement API, the routes of the console, HiveServer2 in the binary transport and over HTTP, Spark
  Connect, MCP, PostgreSQL and Flight SQL. Live heap, metaspace, threads, files and sockets after the warm-up and at the
  end.
- groups: 500 clients in 10 groups of equal weight, with a long query and short ones in each group.
- pause: a load balancer that forwards nothing for two minutes.
- idle: sessions without a request for 300 s.
- unread: clients that never read their results.
"""

from __future__ import annotations

import argparse
import re
import secrets
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.paths import ROOT
from tests.soak.cases import CASES, CLIENTS, Run

RESULTS = ROOT / "tests" / "bench" / "results" / "soak.txt"
_SHOWN_MAX = 8


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--case", choices=CASES, default="mixed")
    options.add_argument("--minutes", type=float, default=45.0)
    options.add_argument("--seed", default="")
    options.add_argument("--clients", type=int, default=CLIENTS, help="of the case groups")
    options.add_argument("--results", type=Path, default=RESULTS)
    given = options.parse_args(arguments)
    seed = given.seed or secrets.token_hex(4)
    with tempfile.TemporaryDirectory(prefix="soak") as folder:
        outcome = CASES[given.case](Run(Path(folder), seed, given.minutes, given.clients))
    state = f"BAD {len(outcome.violations)}" if outcome.violations else "ok"
    line = f"{seed}\t{given.case}\t{given.minutes:g} min\t{state}\t{outcome.text}\n"
    with given.results.open("a") as file:
        file.write(line)
    print(line + "\n".join(outcome.violations[:_SHOWN_MAX]))
    print(recorded_sums(given.results.read_text()))
    return 1 if outcome.violations else 0


def recorded_sums(text: str) -> str:
    """Returns the sums over all recorded runs."""
    sums = {name: sum(map(int, re.findall(rf"\b{name} (\d+)", text))) for name in ("statements", "connections")}
    return f"recorded in all: {sums['statements']} statements, {sums['connections']} connections"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the server too
    sys.exit(main())
