"""Runs all measurements, each in a separate process: `python -m tests.bench [name ...]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCHES = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def main() -> int:
    """Runs the named measurements, or all; returns the first failing one's exit code."""
    selected = sys.argv[1:] or BENCHES
    unknown = set(selected) - set(BENCHES)
    if unknown:
        print(f"no such measurement: {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    failed = 0
    for name in selected:
        print(f"== {name}", flush=True)
        failed = failed or subprocess.run([sys.executable, "-m", f"tests.bench.bench_{name}"], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
