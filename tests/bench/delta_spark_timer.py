"""Times statements with delta-spark, in the oracle's environment: a JSON text a line in, milliseconds a line out."""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", PACKAGE)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", sys.argv[1])
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    for line in sys.stdin:
        start = time.perf_counter()
        spark.sql(json.loads(line)).collect()
        print((time.perf_counter() - start) * 1000, file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
