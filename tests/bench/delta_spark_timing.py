"""How long delta-spark takes to plan queries; started by a measurement in the environment of the oracle.

Texts come in as a JSON list, milliseconds for each go out as one. Delta chooses files while Spark optimizes.
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
