"""Mutation testing: changes one operator at a time, and reports the changes that no test notices.

Run `python -m tests.mutation [--packages authorization …] [--sample 400] [--minutes 45] [--seed 1]`. Each package has a
seeded sample of mutants by cosmic-ray's operators (`mutants.py`). Its own distributors start an interpreter for each
mutant; `trials.py` forks a process that has the libraries already, and `recording.py` chooses the tests: those without
Spark that run the changed line. All tests of a module have to pass while it is unchanged.

`equivalent.toml` lists the mutants that no test can notice; they are counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace

from tests.mutation.mutants import equivalents, sampled
from tests.mutation.recording import Recording, recorded, statement_lines
from tests.mutation.trials import SURVIVED, TIMEOUT, Trial, outcomes, preload
from tests.paths import ROOT

# Package → the mutated folder, and the tests that have to notice.
PACKAGES = {
    "authorization": ("engine/authorization", ("engine/authorization", "security")),
    "pruning": (
        "engine/pruning",
        (
            "engine/pruning",
            "engine/planning/reads",
            "engine/delta/log/test_partition_texts.py",
            "engine/delta/test_pruning_properties.py",
        ),
    ),
    "commit": (
        "engine/delta/commit",
        (
            "engine/delta/commit",
            "engine/delta/conversion",
            "engine/delta/test_truncated_logs.py",
            "engine/iceberg/test_converted_tables.py",
            "engine/test_cancelled_commits.py",
            "engine/test_copies_without_spark.py",
            "engine/test_optimize_steps.py",
            "engine/test_refusing_disks.py",
            "engine/test_row_tracking_begun.py",
            "engine/test_table_repairs.py",
        ),
    ),
    "reconciliation": (
        "engine/delta/snapshot",
        (
            "engine/delta/snapshot",
            "engine/delta/commit/test_commit_file.py",
            "engine/delta/maintenance/test_after_commit.py",
            "engine/delta/test_reconciled.py",
            "engine/delta/test_truncated_logs.py",
            "engine/iceberg/test_snapshot_tables.py",
            "engine/planning/reads",
            "engine/storage/test_confinement.py",
            "engine/pruning/test_pruning.py",
            "engine/test_vacuum.py",
            "security/test_browsing.py",
        ),
    ),
}
_TIMEOUT_S = 120.0
# All tests of a module take longer than those of one line.
_UNCHANGED_TIMEOUT_S = 900.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--packages", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    options.add_argument("--sample", type=int, default=400, help="mutants per package")
    options.add_argument("--minutes", type=float, default=45, help="at most, per package")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--again", action="store_true", help="only the mutants that survived the last run")
    options.add_argument("--resume", action="store_true", help="go on after an interrupted run with the same options")
    options.add_argument("--verbose", action="store_true", help="print which test noticed which mutant")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TMPDIR": folder, "HYPOTHESIS_PROFILE": "quick"}
        tempfile.tempdir = folder
        for package in arguments.packages:
            mutate(package, arguments)


def mutate(package: str, arguments: argparse.Namespace) -> None:
    """Prints the surviving mutants of a sample, and the counts."""
    began = time.monotonic()
    folder, tests = PACKAGES[package]
    recording = recorded(folder, [f"tests/{each}" for each in tests])
    preload(recording.libraries)
    mutants = sampled(folder, arguments.sample, arguments.seed)
    _ensure_unchanged_passes(recording, sorted({mutant.path for mutant in mutants}), arguments.processes)
    known = equivalents()
    survivors = ROOT / ".mutation" / f"{package}-survivors.json"
    again = [tuple(key) for key in json.loads(survivors.read_text())] if arguments.again else None
    tried = [mutant for mutant in mutants if mutant.key not in known and (again is None or mutant.key in again)]
    journal = ROOT / ".mutation" / f"{package}-outcomes.jsonl"
    if not arguments.resume:
        journal.unlink(missing_ok=True)
    results = dict(json.loads(line) for line in journal.read_text().splitlines()) if journal.exists() else {}
    counts = Counter({"equivalent": sum(mutant.key in known for mutant in mutants)})
    counts.update(_kind(results[mutant.identity]) for mutant in tried if mutant.identity in results)
    survived = [mutant.key for mutant in tried if results.get(mutant.identity) == SURVIVED]
    tried = [mutant for mutant in tried if mutant.identity not in results]
    trials = [_trial(recording, mutant.path, mutant.line, mutant.source) for mutant in tried]
    for index, found in outcomes(trials, arguments.processes):
        with journal.open("a") as file:
            print(json.dumps([tried[index].identity, found]), file=file)
        counts[_kind(found)] += 1
        survived += [tried[index].key] if found == SURVIVED else []
        if arguments.verbose or found == SURVIVED:
            print(f"{tried[index]}\n    {found} ({len(trials[index].tests)} tests)", flush=True)
        if time.monotonic() - began > 60 * arguments.minutes:
            print(f"{package}: stopped after {arguments.minutes} minutes")
            break
    survivors.write_text(json.dumps(survived))
    number = counts.total() - counts["equivalent"]
    share, minutes = counts[SURVIVED] / max(number, 1), (time.monotonic() - began) / 60
    print(f"{package}: {share:.1%} of {number} survived, {minutes:.0f} minutes, {dict(counts)}", flush=True)


def _kind(outcome: str) -> str:
    return outcome if outcome in (SURVIVED, TIMEOUT) else "noticed"


def _trial(recording: Recording, path: str, line: int, source: str) -> Trial:
    lines = statement_lines((ROOT / path).read_text(), line) if line else None
    tests = recording.tests_of(path, *(lines or (1, len(source.splitlines()))))
    return Trial(path, source, lines is not None, tests, _TIMEOUT_S)


def _ensure_unchanged_passes(recording: Recording, paths: list[str], processes: int) -> None:
    """Raises SystemExit if a test fails without a mutant, since it would notice any."""
    unchanged = [
        replace(_trial(recording, path, 0, (ROOT / path).read_text()), in_function=True, timeout_s=_UNCHANGED_TIMEOUT_S)
        for path in paths
    ]
    failed = [f"{paths[index]}: {found}" for index, found in outcomes(unchanged, processes) if found != SURVIVED]
    if failed:
        sys.exit("tests fail without a mutant:\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
