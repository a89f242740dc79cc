"""Mutation testing with cosmic-ray: changes one operator at a time, and reports the changes that no test notices.

Run `python -m tests.mutation [--packages authorization …] [--sample 400] [--minutes 45] [--seed 1]`. Each package has a
seeded sample of its mutants, and stops after so many minutes. Operators on `|` are left out: in annotations and unions
of types they change nothing. The mutants are made in a copy of the checkout, one after
the other; the tests are those without Spark. The last lines are the survivors, by file and line, and their share.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

from tests.paths import ROOT

# Package → the mutated folder, and the tests that have to notice.
PACKAGES = {
    "authorization": ("engine/authorization", "tests/security"),
    "pruning": ("engine/pruning", "tests/engine/pruning tests/engine/planning/reads"),
    "commit": ("engine/delta/commit", "tests/engine/delta/commit tests/interleave/test_names.py"),
    "reconciliation": ("engine/delta/snapshot", "tests/engine/delta/snapshot"),
}
NOT_COPIED = shutil.ignore_patterns(".venv", ".git", "node_modules", ".mypy_cache", ".hypothesis", "*.pyc")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    options.add_argument("--sample", type=int, default=400, help="mutants per package")
    options.add_argument("--minutes", type=float, default=45, help="at most, per package")
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    for package in arguments.packages:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "copy")
            shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
            survivors, tried = mutate(package, copy, arguments.sample, arguments.minutes, arguments.seed)
        print("\n".join(survivors))
        print(
            f"{package}: {len(survivors)} of {tried} mutants survived ({len(survivors) / max(tried, 1):.1%})",
            flush=True,
        )


def mutate(package: str, copy: Path, sample: int, minutes: float, seed: int) -> tuple[list[str], int]:
    """Returns the surviving mutants of a sample as `path:line operator`, and how many mutants were tried."""
    module, tests = PACKAGES[package]
    marks = "not spark and not clients and not slow and not oracle and not bench"
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider -m '{marks}' {tests}"
    (copy / "mutation.toml").write_text(
        f'[cosmic-ray]\nmodule-path = "{module}"\ntimeout = 120.0\nexcluded-modules = []\n'
        f'test-command = "{command}"\n\n[cosmic-ray.distributor]\nname = "local"\n'
    )
    ray = [sys.executable, "-m", "cosmic_ray.cli"]
    subprocess.run([*ray, "init", "mutation.toml", "mutation.sqlite"], cwd=copy, check=True)
    subprocess.run(["bash", "-c", command], cwd=copy, check=True, stdout=subprocess.DEVNULL)  # without a mutant
    database = str(copy / "mutation.sqlite")
    with use_db(database, mode=WorkDB.Mode.open) as work:
        items = sorted(work.pending_work_items, key=lambda item: str(item.mutations))
        tried = [item for item in items if not any("BitOr" in each.operator_name for each in item.mutations)]
        selected = {item.job_id for item in random.Random(seed).sample(tried, min(sample, len(tried)))}
        for item in items:
            if item.job_id not in selected:
                work.set_result(item.job_id, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    try:
        subprocess.run([*ray, "exec", "mutation.toml", "mutation.sqlite"], cwd=copy, check=True, timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        print(f"{package}: stopped after {minutes} minutes")
    with use_db(database, mode=WorkDB.Mode.open) as work:
        done = [(item, result) for item, result in work.completed_work_items if item.job_id in selected]
    return [
        f"{change.module_path}:{change.start_pos[0]} {change.operator_name}"
        for item, result in done
        if result.test_outcome == TestOutcome.SURVIVED
        for change in item.mutations
    ], len(done)


if __name__ == "__main__":
    main()
