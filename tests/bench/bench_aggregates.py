"""Small aggregates over one table, over HTTP, compared with DuckDB with two threads on the same files.

Run `python -m tests.bench.bench_aggregates [--repeat 25] [--rows 4000000] [--folder FOLDER] [--only NAME …]
[--conf TABLE]`. The table has 16 columns in 4 files; the result cache is off. Prints each query's median on either side
in ms and their ratio, after the answers were compared; sides alternate. With a folder the table is stored there for the
next run.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

from tests.bench.sides import alternate
from tests.bench.statement_client import Client
from tests.server_process import ServerProcess

FILES = 4
MAKE = """
SELECT
    i AS id, i * 7 % 1000003 AS user_id,
    'country_' || (i * 31 % 20) AS country, 'product_' || (i * 17 % 500) AS product,
    DATE '2023-01-01' + CAST(i * 13 % 730 AS INT) AS day,
    TIMESTAMP '2023-01-01' + INTERVAL 1 SECOND * (i * 11 % 63072000) AS at,
    CAST(hash(i) % 1000000 / 100.0 AS DECIMAL(12, 2)) AS amount, CAST(i % 97 / 100.0 AS DECIMAL(4, 2)) AS discount,
    CAST(i * 3 % 50 AS INT) AS quantity, CAST(hash(i + 1) % 100000 AS DOUBLE) / 7 AS score, i % 3 = 0 AS is_new,
    CAST(i % 7 AS TINYINT) AS channel, CAST(hash(i + 2) % 1000000007 AS BIGINT) AS session_id,
    'note ' || (hash(i + 3) % 100000) AS note, CAST(i % 12 AS SMALLINT) AS slot, CAST(i % 5 AS INT) AS shop
FROM range({begin}, {end}) AS r(i)
"""
# Name and text; `{n}` is another number each time.
QUERIES = {
    "sum of a decimal by 20 strings": "SELECT country, sum(amount) FROM facts GROUP BY country",
    "count distinct of 500 strings, filtered": "SELECT count(DISTINCT product) FROM facts WHERE quantity > 10",
    "top 10 of 500 groups": "SELECT product, count(*) AS c, sum(quantity) AS q FROM facts GROUP BY product"
    " ORDER BY q DESC, product LIMIT 10",
    "sums, new literals": "SELECT sum(quantity), sum(amount), count(*) FROM facts WHERE user_id > {n} AND shop < 3",
    "filter on a date": "SELECT count(*), sum(quantity) FROM facts WHERE day = DATE '2023-05-01'",
    "sum, max, min": "SELECT sum(quantity), max(score), min(score) FROM facts",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=25)
    options.add_argument("--rows", type=int, default=4_000_000)
    options.add_argument("--folder", type=Path)
    options.add_argument("--only", nargs="+", default=list(QUERIES))
    options.add_argument("--conf", default="{}", help="spark.conf in TOML, such as the switch of a rule")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        lake = arguments.folder or Path(name) / "lake"
        table = lake / "default" / "facts"
        if not table.exists():
            write_table(table, arguments.rows)
        # Not as tests have it.
        own = {"DRIVER_MEMORY": "4g", "CONF": arguments.conf, "WARM_UP": "true"}
        server = ServerProcess(Path(name), str(lake), **{f"GATEWAY_SPARK_{key}": own[key] for key in own})
        stack.callback(server.end)
        stack.callback(server.popen.terminate)
        client = Client(server.ports()["http"])
        session = client.ask("POST", "/api/2.0/sql/sessions", {})["session_id"]
        client.run("SET gateway.result_cache = false", session_id=session)
        database = duckdb.connect(config={"threads": 2})
        files = [str(file) for file in sorted(table.glob("*.parquet"))]
        print(f"{len(files)} files, {sum(os.path.getsize(file) for file in files) / 1e6:.0f} MB", flush=True)
        database.execute(f"CREATE VIEW facts AS FROM read_parquet({files})")
        for title in arguments.only:
            measure(title, QUERIES[title], client, session, database, arguments.repeat)


def write_table(table: Path, rows: int) -> None:
    for number in range(FILES):
        made = duckdb.sql(MAKE.format(begin=rows * number // FILES, end=rows * (number + 1) // FILES)).to_arrow_table()
        at = made.schema.get_field_index("at")
        made = made.set_column(at, "at", made.column("at").cast(pa.timestamp("us", "UTC")))
        write_deltalake(table, made, mode="append")


def measure(title: str, text: str, client: Client, session: str, database: Any, repeat: int) -> None:
    counters: tuple[Iterator[int], Iterator[int]] = (itertools.count(1), itertools.count(1))

    def ours() -> list[Any]:
        answer = client.run(text.format(n=next(counters[0])), session_id=session)
        return list(answer["result"]["data_array"])

    def theirs() -> list[Any]:
        return list(database.execute(text.format(n=next(counters[1]))).fetchall())

    ensure_equal(title, ours(), theirs())
    median: Callable[..., tuple[float, float]] = alternate
    own, other = median(ours, theirs, repeat, warm=5)
    print(f"{title:42} ours {own:6.0f} ms   DuckDB {other:6.0f} ms   ratio {own / other:5.2f}", flush=True)


def ensure_equal(title: str, ours: list[Any], theirs: list[Any]) -> None:
    own = sorted(tuple(str(Decimal(cell)) if _is_number(cell) else cell for cell in row) for row in ours)
    other = sorted(tuple(str(Decimal(str(cell))) if _is_number(cell) else cell for cell in row) for row in theirs)
    if own != other:
        raise AssertionError(f"the answers differ: {title}\n{own[:5]}\n{other[:5]}")


def _is_number(cell: Any) -> bool:
    try:
        Decimal(str(cell))
    except ArithmeticError:
        return False
    return True


if __name__ == "__main__":
    main()
