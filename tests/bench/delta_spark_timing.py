"""delta-spark's planning time; a measurement starts it in the oracle's environment.

Reads texts as a JSON list, and writes milliseconds for each as one. Delta prunes files while Spark optimizes.
"""

from __future__ import annotations

import json
import sys
import time

from tests.oracle.delta_spark import open_spark


def main() -> None:
    spark = open_spark()
    spent = []
    for text in json.load(sys.stdin):
        start = time.perf_counter()
        spark.sql(text)._jdf.queryExecution().executedPlan()
        spent.append((time.perf_counter() - start) * 1000)
    print(json.dumps(spent))
    spark.stop()


if __name__ == "__main__":
    main()
