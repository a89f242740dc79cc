"""Time spent in a small query: one line for each of a dashboard's ten (`dashboard_queries.py`).

Run `python -m tests.bench.bench_small [--scale 0.2] [--repeat 15] [--afresh]`. One session in one process, one query at
a time; prints each column's minimum over all repetitions in ms, so that machine noise is low and the columns do not add
up exactly. A query after the first repeats its previous tasks, unless all are planned afresh.

- `all`: from the text to the last row in Arrow; `cpu`: Python's and Java's processor time;
- parse, bind, author(ize), plan: gateway stages; fetch: the rows, after they are computed;
- in Spark: request (reading it), sparse (parsing), guard, analys(is), optim(ization), planning (the physical plan);
  stages: code generation, and with adaptive planning all stages but the last; last: the job that returns the rows. In
  these two, `compile` is Janino's and `tasks` the time in tasks, summed over two cores;
- counts: compiled classes, jobs, tasks, py4j calls.

Below: Java's mean processor time per query, by thread purpose.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JJavaError

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.bench.bench_tpch import write_tables
from tests.bench.dashboard_queries import PARAMETERS, QUERIES
from tests.bench.sides import open_lake, own_spark, two_core_spark
from tests.counted_calls import counted_calls

STAGES = {"parse": "parse", "bind": "bind", "author": "authorize", "plan": "plan"}
STEPS = {
    "request": "request",
    "sparse": "parse",
    "guard": "guard",
    "analys": "analysis",
    "optim": "optimization",
    "planning": "planning",
    "stages": "stages",
    "last": "last stage",
}
# Turns that do not count.
WARM = 3
COUNTS = ("classes", "jobs", "tasks_n", "py4j")
# Java threads' purposes, by the first word in their names.
THREADS = {
    "C1": "compilers",
    "C2": "compilers",
    "G1": "collector",
    "GC": "collector",
    "VM": "collector",
    "Executor": "tasks",
    "Thread": "statement",  # py4j's
    "dag": "scheduler",
    "dispatcher": "scheduler",
    "task": "scheduler",
    "spark": "listeners",
    "shuffle": "shuffle and broadcast",
    "broadcast": "shuffle and broadcast",
}
COLUMNS = ("all", "cpu", *STAGES, *STEPS, "compile", "tasks", "fetch", *COUNTS)


class Measured:
    """A session whose every query is taken apart."""

    def __init__(self, driver: SparkDriver, session: LakeSession) -> None:
        self._session, self._process = session, driver.process
        self._context = own_spark(driver).sparkContext()
        packages = driver.process.gateway.jvm.org.apache.spark
        self._codegen = packages.sql.catalyst.expressions.codegen.CodeGenerator
        self._metrics = packages.metrics.source.CodegenMetrics

    def once(self, text: str) -> dict[str, float]:
        """Each column's value."""
        request = StatementRequest(identity=Identity("bench"))
        compiled, classes = self._codegen.compileTime(), self._classes()
        busy, start = self._busy_ms(), time.perf_counter()
        with counted_calls(self._process.gateway) as calls:
            result = self._session.execute(text, request)
            executed = time.perf_counter()
            for _ in result.batches():
                pass
            result.close()
        ended = time.perf_counter()
        stages = {each.stage.value: each.duration_ms for each in request.profile.stages}
        return {
            "all": (ended - start) * 1000,
            "cpu": self._busy_ms() - busy,
            "fetch": (ended - executed) * 1000,
            **{column: stages.get(stage, 0.0) for column, stage in STAGES.items()},
            **{column: request.profile.steps.get(step, 0.0) for column, step in STEPS.items()},
            "compile": (self._codegen.compileTime() - compiled) / 1e6,
            "classes": self._classes() - classes,
            "py4j": len(calls),
            **self._work_of(request.statement_id),
        }

    def by_threads(self) -> Counter[str]:
        """Returns processor time in ms by live Java thread."""
        spent: Counter[str] = Counter()
        for task in Path(f"/proc/{self._process.process_id}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                name, _, numbers = (task / "stat").read_text().partition("(")[2].rpartition(")")
                ticks = sum(map(int, numbers.split()[11:13]))
                first = re.split(r"[ .-]", name)[0]
                spent[THREADS.get(first, f"other: {first}")] += ticks * 1000 // os.sysconf("SC_CLK_TCK")
        return spent

    def _classes(self) -> int:
        count: int = self._metrics.METRIC_COMPILATION_TIME().getCount()
        return count

    def _busy_ms(self) -> float:
        """Returns this process's and Java's processor time so far."""
        fields = Path(f"/proc/{self._process.process_id}/stat").read_text().rpartition(")")[2].split()
        java = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return (time.process_time() + java) * 1000

    def _work_of(self, statement: str) -> Mapping[str, float]:
        """Returns a statement's jobs, tasks and task time in ms, from Spark's own metrics."""
        self._context.listenerBus().waitUntilEmpty()
        store = self._context.statusStore()
        jobs = [store.job(each) for each in self._context.statusTracker().getJobIdsForGroup(statement)]
        stages = {ids.apply(at) for job in jobs for ids in [job.stageIds()] for at in range(ids.size())}
        spent = []
        for stage in stages:
            with suppress(Py4JJavaError):  # one that was skipped
                spent.append(store.lastStageAttempt(stage).executorRunTime())
        return {"jobs": len(jobs), "tasks_n": sum(job.numCompletedTasks() for job in jobs), "tasks": sum(spent)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=float, default=0.2)
    options.add_argument("--repeat", type=int, default=15)
    options.add_argument("--afresh", action="store_true")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder), arguments.scale)
        with two_core_spark(memory="1500m", shuffle_partitions=32) as driver:
            measured = Measured(driver, open_lake(driver, Path(folder)))
            texts = {name: text.format(**PARAMETERS[0]) for name, text in QUERIES.items()}
            if arguments.afresh:  # a text with a comment is not cached
                texts = {name: text.replace("SELECT", "SELECT /* afresh */", 1) for name, text in texts.items()}
            found: dict[str, list[dict[str, float]]] = {name: [] for name in texts}
            for round_number in range(arguments.repeat + WARM):
                if round_number == WARM:
                    before = measured.by_threads()
                for name, text in texts.items():
                    once = measured.once(text)
                    if round_number >= WARM:
                        found[name].append(once)
            spent = measured.by_threads() - before
            show(found)
            for what, each in spent.most_common():
                print(f"{what:22}{each / (arguments.repeat * len(texts)):9.1f}")


def show(found: Mapping[str, list[dict[str, float]]]) -> None:
    print(f"{'':22}" + "".join(f"{column.removesuffix('_n'):>9}" for column in COLUMNS))
    for name, runs in found.items():
        minimum = [min(run[column] for run in runs) for column in COLUMNS]
        cells = (
            f"{value:9.0f}" if column in COUNTS else f"{value:9.1f}"
            for column, value in zip(COLUMNS, minimum, strict=True)
        )
        print(f"{name:22}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
