"""Each of the gateway's rules on and off, on named workloads.

Run `python -m tests.bench.bench_rules [--workloads tpch tpcds dashboard lookups] [--rules NAMES] [--repeat 5]
[--warm 3] [--scale 0.2] [--tpch FOLDER] [--tpcds FOLDER] [--results FILE]`. For each query the rules that change its
plan are found first; each of them is then turned off in a session of its own, and both sessions run the query,
alternating. A rule that does not change the plan costs nothing that this could measure, so it is left out. Prints for
each rule and query both medians and their ratio (on / off: below 1 the rule is faster), and for each rule and workload
the sums. `--results` appends all of it to a file, for example `tests/bench/results/rules.txt`.

- `tpch`: the 22 queries at a scale; `tpcds`: the 99 at scale 1, over the folder that `bench_tpcds --folder` makes;
- `dashboard`: the ten of `dashboard_queries.py`; `lookups`: rows of TPC-H by key, with another key each time;
- `files`: a table of two million rows in a file for each of 365 days, for the rules that prune files, and statements
  with a long list and many branches.

The caches of plans and columns are on, as in a server; the result cache is off. The rules `planCache` and `columnCache`
are measured as the others.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.settings import RULES, rule_setting
from engine.spark.session import SparkDriver
from tests.bench.bench_tpch import query_texts, write_tables
from tests.bench.dashboard_queries import PARAMETERS, QUERIES
from tests.bench.sides import alternate, open_lake, run, two_core_spark
from tests.tpcds import Oracle, spark_text

NAMES = tuple(name for name, _ in RULES)
WORKLOADS = ("tpch", "tpcds", "dashboard", "lookups", "files")
LOOKUPS: Mapping[str, str] = {
    "order by key": "SELECT * FROM orders WHERE o_orderkey = {key}",
    "items of an order": "SELECT l_linenumber, l_quantity FROM lineitem WHERE l_orderkey = {key}",
    "three customers": "SELECT c_name, c_acctbal FROM customer WHERE c_custkey IN ({key}, {key} + 1, {key} + 2)",
    "order with its customer": (
        "SELECT o_totalprice, c_name FROM orders JOIN customer ON o_custkey = c_custkey WHERE o_orderkey = {key}"
    ),
}
EVENTS = (
    "CREATE TABLE events (day DATE, at DATE, id BIGINT, kind STRING, amount DECIMAL(10,2)) PARTITIONED BY (day)",
    "INSERT INTO events SELECT date_add(DATE'2024-01-01', CAST(id DIV 5480 AS INT)), "
    "date_add(DATE'2024-01-01', CAST(id DIV 5480 AS INT)), id, concat('kind ', id % 20), "
    "CAST(id % 100000 / 100 AS DECIMAL(10,2)) FROM range(0, 2000000, 1, 2)",
    "CREATE TABLE returned AS SELECT id * 40 AS id, id DIV 100 AS batch FROM range(0, 50000)",
)
FILES: Mapping[str, str] = {
    "ten rows": "SELECT * FROM events LIMIT 10",
    "day or key": "SELECT count(*), sum(amount) FROM events WHERE day = DATE'2024-03-01' OR id = 1234567",
    "returned batch": "SELECT sum(amount) FROM events JOIN returned ON events.id = returned.id WHERE batch = 7",
    "by month": "SELECT date_trunc('month', at), count(*), sum(amount) FROM events GROUP BY ALL",
    "50,000 keys": "SELECT count(*), sum(amount) FROM events WHERE id IN ({})".format(
        ", ".join(map(str, range(0, 500_000, 10)))
    ),
    "1,000 branches": "SELECT sum(CASE {} END) FROM (SELECT * FROM returned LIMIT 100)".format(
        " ".join(f"WHEN id = {number} THEN batch + {number}" for number in range(1000))
    ),
}
# Returns the text of a query, each time it is run.
Text = Callable[[], str]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    options.add_argument("--rules", nargs="+", choices=NAMES, default=NAMES)
    options.add_argument("--queries", nargs="+", help="names of queries, such as Q9; default: all of the workload")
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--warm", type=int, default=3, help="rounds before, while Java compiles what they run")
    options.add_argument("--scale", type=float, default=0.2, help="of TPC-H")
    options.add_argument("--tpch", type=Path, help="where the tables are, or will be")
    options.add_argument("--tpcds", type=Path, help="where the tables are, or will be, as bench_tpcds makes them")
    options.add_argument("--results", type=Path)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as own, two_core_spark(memory="4g") as driver:
        for workload in arguments.workloads:
            lake, queries = _workload(workload, Path(own), arguments)
            if workload == "files":
                _make_events(driver, lake)
            if arguments.queries:
                queries = {name: text for name, text in queries.items() if name in arguments.queries}
            for line in measure(driver, lake, queries, arguments):
                print(f"{workload:9} {line}", flush=True)
                if arguments.results is not None:
                    with arguments.results.open("a", encoding="utf-8") as file:
                        file.write(f"{workload:9} {line}\n")


def _workload(workload: str, own: Path, arguments: argparse.Namespace) -> tuple[Path, dict[str, Text]]:
    """Returns the folder of a workload's tables, and its queries."""
    if workload == "tpcds":
        folder = arguments.tpcds or own / "tpcds"
        folder.mkdir(parents=True, exist_ok=True)
        oracle = Oracle(1, folder / "tpcds.duckdb")
        if not (folder / "lake").exists():
            oracle.write_tables(folder / "lake")
        texts = {f"Q{number}": spark_text(text) for number, text in oracle.queries.items()}
        oracle.close()
        return folder / "lake", {name: _constant(text) for name, text in texts.items()}
    if workload == "files":
        (own / "files").mkdir()
        return own / "files", {name: _constant(text) for name, text in FILES.items()}
    folder = arguments.tpch or own / "tpch"
    if not (folder / "supplier").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_tables(folder, arguments.scale)
    if workload == "tpch":
        return folder, {f"Q{at + 1}": _constant(text.strip().rstrip(";")) for at, text in enumerate(query_texts())}
    if workload == "dashboard":
        return folder, {name: _constant(text.format(**PARAMETERS[0])) for name, text in QUERIES.items()}
    return folder, {name: _with_keys(text) for name, text in LOOKUPS.items()}


def _make_events(driver: SparkDriver, lake: Path) -> None:
    session = open_lake(driver, lake)
    for statement in EVENTS:
        run(session, statement)


def _constant(text: str) -> Text:
    return lambda: text


def _with_keys(text: str) -> Text:
    """Returns a text with another key each time, as the next user of a dashboard has it."""
    keys = count(1)
    return lambda: text.format(key=32 * next(keys))


def measure(
    driver: SparkDriver, lake: Path, queries: Mapping[str, Text], arguments: argparse.Namespace
) -> Iterator[str]:
    """Yields a line for each query and rule, and one for each rule with the sums of its queries."""
    on = open_lake(driver, lake)
    off = {name: _session_without(driver, lake, name) for name in arguments.rules}
    sums: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for query, text in queries.items():
        for rule in _rules_of(on, text, arguments.rules):
            times = alternate(_runner(on, text), _runner(off[rule], text), arguments.repeat, arguments.warm)
            sums[rule].append(times)
            yield f"{rule:26} {query:24} {_shown(times)}"
    for rule in arguments.rules:
        total = (sum(with_rule for with_rule, _ in sums[rule]), sum(without for _, without in sums[rule]))
        figures = _shown(total) if sums[rule] else "changes no plan"
        yield f"{rule:26} {f'ALL {len(sums[rule])} of {len(queries)}':24} {figures}"


def _session_without(driver: SparkDriver, lake: Path, rule: str) -> LakeSession:
    session = open_lake(driver, lake)
    run(session, f"SET {rule_setting(rule)} = false")
    return session


def _rules_of(session: LakeSession, text: Text, rules: Sequence[str]) -> list[str]:
    """Returns the rules that change the plan of a query, or answer it from a cache when it is repeated."""
    found: set[str] = set()
    for _ in range(4):  # the column cache reads a column once before it caches it, or some times if pages are left out
        request = StatementRequest(identity=Identity("bench"))
        result = session.execute(text(), request)
        for _ in result.batches():
            pass
        result.close()
        found |= request.profile.rules.keys()
    return [rule for rule in rules if rule in found]


def _runner(session: LakeSession, text: Text) -> Callable[[], object]:
    return lambda: run(session, text())


def _shown(times: tuple[float, float]) -> str:
    return f"on {times[0]:8.0f} ms  off {times[1]:8.0f} ms  ratio {times[0] / times[1]:.2f}"


if __name__ == "__main__":
    main()
