"""dbt with 16 threads and --fail-fast, whose gateway is killed in the middle; the next run completes its tables."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

from tests.chaos.model import read
from tests.chaos.rig import Rig
from tests.paths import ROOT

# The environment that `tests/clients/test_dbt.py` makes.
DBT = ROOT / ".clients" / "dbt-thrift" / "bin" / "dbt"
_MODELS, _ROWS, _RUN_S = 16, 200, 600
_PROJECT = """\
name: chaos
profile: chaos
version: '1.0'
model-paths: [models]
flags: {send_anonymous_usage_stats: false}
"""
_PROFILE = (
    "chaos: {{target: thrift, outputs: {{thrift: {{type: spark, method: thrift, host: 127.0.0.1, port: {port},"
    " user: dbt, schema: dbt, threads: 16, connect_retries: 0}}}}}}\n"
)


def kill_under_dbt(rig: Rig, chance: random.Random) -> list[str]:
    """Returns a violation for each table that is not complete after the second run."""
    folder = rig.folder / f"dbt{time.monotonic_ns()}"
    _write_project(folder, rig.target(0).thrift)
    first = _start(folder)
    time.sleep(chance.uniform(8, 30))
    rig.gateways[0].kill()
    first.communicate(timeout=_RUN_S)
    found = [] if rig.await_ready() else ["not ready"]
    second = _start(folder)
    output, _ = second.communicate(timeout=_RUN_S)
    found += [f"dbt failed ({output[-400:]})"] if second.returncode else []
    for number in range(_MODELS):
        rows = read(rig.lake, f"m{number}", "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM t", schema="dbt")
        found += [] if rows == [{"n": _ROWS, "ids": _ROWS}] else [f"rows of m{number}: {rows}"]
    return found


def _write_project(folder: Path, port: int) -> None:
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(_PROJECT)
    (folder / "profiles.yml").write_text(_PROFILE.format(port=port))
    for number in range(_MODELS):
        text = "{{ config(materialized='table', file_format='delta') }}\n" + f"SELECT id FROM range({_ROWS})\n"
        (folder / "models" / f"m{number}.sql").write_text(text)


def _start(folder: Path) -> subprocess.Popen[str]:
    command = [str(DBT), "run", "--threads", "16", "--fail-fast"]
    environment = os.environ | {"DBT_PROFILES_DIR": str(folder)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
