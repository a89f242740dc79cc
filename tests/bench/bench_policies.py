"""Cost of a row filter and column masks: a table with them compared with one that has the same rows without.

Run `python -m tests.bench.bench_policies [--rows 20000000] [--repeat 7]`. The filter keeps nine rows in ten; the same
condition in the query is measured too, as the cost without a barrier.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

from tests.bench.sides import alternate, open_lake, run, two_core_spark

QUERIES = {
    "sum": "SELECT sum(k) FROM {}",
    "group": "SELECT k, count(*), sum(d) FROM {} GROUP BY k ORDER BY k LIMIT 1",
    "all columns": "SELECT max(id), max(k), max(s), max(d) FROM {}",
    "narrow": "SELECT sum(d) FROM {} WHERE k = 7",
}
ROWS = "SELECT id, id % 1000 AS k, cast(id AS string) AS s, id * 0.5D AS d, id % 10 AS tenant FROM range(0, {}, 1, 8)"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--repeat", type=int, default=7)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name, two_core_spark() as driver:
        session = open_lake(driver, Path(name))
        for table in ("plain", "filtered", "masked"):
            run(session, f"CREATE TABLE {table} AS {ROWS.format(arguments.rows)}")
        run(session, "CREATE FUNCTION kept(tenant BIGINT) RETURNS BOOLEAN RETURN tenant <> 3")
        run(session, "CREATE FUNCTION hidden(s STRING) RETURNS STRING RETURN IF(is_member('audit'), s, '***')")
        for table in ("filtered", "masked"):
            run(session, f"ALTER TABLE {table} SET ROW FILTER kept ON (tenant)")
        run(session, "ALTER TABLE masked ALTER COLUMN s SET MASK hidden")
        by_hand = "(SELECT * FROM plain WHERE tenant <> 3)"
        for name_, text in QUERIES.items():
            for table in ("filtered", "masked", by_hand):
                ours, whole = alternate(
                    partial(run, session, text.format(table)),
                    partial(run, session, text.format("plain")),
                    arguments.repeat,
                )
                shown = "by hand" if table == by_hand else table
                print(
                    f"{name_:12} {shown:9} {ours:6.0f} ms  plain {whole:6.0f} ms  ratio {ours / whole:.2f}", flush=True
                )


if __name__ == "__main__":
    main()
