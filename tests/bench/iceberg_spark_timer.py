"""Times statements with the Iceberg runtime, in the oracle's environment: a JSON line in, milliseconds per line out.

The tables in the catalog `c` are in the working folder's `lake`. A list is a call to the oracle's `Maker`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from iceberg_spark import JAR, Maker


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraClassPath", str(JAR))
        .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.c", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.c.type", "hadoop")
        .config("spark.sql.catalog.c.warehouse", str(Path.cwd() / "lake"))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", sys.argv[1])
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    maker = Maker(spark)
    for line in sys.stdin:
        requested = json.loads(line)
        start = time.perf_counter()
        if isinstance(requested, list):
            getattr(maker, requested[0])(*requested[1:])
        else:
            spark.sql(requested).collect()
        print((time.perf_counter() - start) * 1000, file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
