"""TPC-H on Spark's standalone cluster with two workers of one core, compared with `local[2]`, in one run.

Run `python -m tests.bench.bench_cluster [--scale 1] [--repeat 3] [--warm 2] [--queries 9 17 …] [--folder FOLDER]`. Two
gateways serve the same lake over HTTP, with 4 GB of heap each: one in its driver, the other in its driver (1 GB) and
two executors (1.5 GB each). The result cache is off. Answers are compared before they are measured, and the sides
alternate. Prints each query's median on either side in ms and their ratio, their sums, and the peak of the resident
memory of each side's processes. With a folder the tables are stored there for the next run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.bench_aggregates import ensure_equal
from tests.bench.bench_tpch import query_texts, write_tables
from tests.bench.sides import alternate
from tests.bench.statement_client import MEGA, Client, Memory
from tests.clusters.spark_cluster import StandaloneCluster, stopping
from tests.server_process import ServerProcess

Side = Callable[[str], list[Any]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--warm", type=int, default=2, help="rounds before, while Java compiles what they run")
    options.add_argument("--queries", type=int, nargs="+", default=range(1, 23), help="their numbers")
    options.add_argument("--folder", type=Path, help="where the tables are, or will be")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        own = Path(name)
        lake = given.folder or own / "lake"
        texts = (
            query_texts() if (lake / "default" / "supplier").exists() else write_tables(lake / "default", given.scale)
        )
        (own / "cluster").mkdir()
        cluster = StandaloneCluster(own / "cluster", memory="2g")
        stack.enter_context(stopping(cluster))
        settings = cluster.settings(**{"spark.executor.memory": "1500m"}) | {"GATEWAY_SPARK_DRIVER_MEMORY": "1g"}
        there, of_cluster = _side(stack, own / "there", lake, settings)
        here, of_local = _side(
            stack, own / "here", lake, {"GATEWAY_SPARK_DRIVER_MEMORY": "4g", "GATEWAY_SPARK_CONF": "{}"}
        )
        there("SELECT count(*) FROM lineitem")
        cluster.wait_for_executors()
        memory = [Memory(*of_cluster, *cluster.executors()), Memory(*of_local)]
        compare(there, here, {number: texts[number - 1] for number in given.queries}, given.repeat, given.warm)
        for title, each in zip(("two workers", "local[2]"), memory, strict=True):
            each.end()
            print(f"{title}: peaks of gateway, Java and executors {[peak // MEGA for peak in each.peak]} MiB")


def _side(stack: ExitStack, folder: Path, lake: Path, settings: dict[str, str]) -> tuple[Side, list[int]]:
    """Starts a gateway; returns a function that runs a statement, and its processes."""
    folder.mkdir()
    state = {"GATEWAY_STATE_FOLDER": str(folder / "state"), "GATEWAY_LAKE_CATALOG_FOLDER": str(folder / "catalog")}
    server = ServerProcess(folder, str(lake), **state, **settings)
    stack.callback(server.end)
    stack.callback(server.popen.terminate)
    client = Client(server.ports()["http"])
    session = client.ask("POST", "/api/2.0/sql/sessions", {})["session_id"]
    client.run("SET gateway.result_cache = false", session_id=session)
    return lambda text: list(client.run(text, session_id=session)["result"]["data_array"]), [
        server.server_pid,
        *server.jvms(),
    ]


def compare(there: Side, here: Side, queries: dict[int, str], repeat: int, warm: int) -> None:
    """Prints one line per query, and the sums."""
    sums = [0.0, 0.0]
    for number, text in queries.items():
        text = text.strip().rstrip(";")
        ensure_equal(f"Q{number}", there(text), here(text))
        cluster, local = alternate(partial(there, text), partial(here, text), repeat, warm)
        print(
            f"Q{number:<2} two workers {cluster:7.0f} ms  local[2] {local:7.0f} ms  ratio {cluster / local:.2f}",
            flush=True,
        )
        sums[0], sums[1] = sums[0] + cluster, sums[1] + local
    print(f"all two workers {sums[0]:7.0f} ms  local[2] {sums[1]:7.0f} ms  ratio {sums[0] / sums[1]:.2f}")


if __name__ == "__main__":
    main()
