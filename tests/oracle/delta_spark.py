"""Runs SQL with delta-spark and returns the rows; the tests start it in a separate environment.

Delta has no build for our Spark version, so the oracle is another process: `.oracle` has its pyspark, and its jar comes
from Maven at the first start. Statements arrive as lines, each a text in JSON, and run immediately. One JSON list with
answers is written at the end of the input, to the file that is the only argument: the column names and the rows as
lists of text (null for NULL), or the error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
# The tables are small: compiling costs more than it gains.
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"


def open_spark() -> SparkSession:
    """Returns a small Spark with Delta."""
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", PACKAGE)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.sources.default", "delta")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", _QUICK_START)
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )


def main() -> None:
    spark = open_spark()
    answers = []
    for statement in map(json.loads, sys.stdin):
        try:
            frame = spark.sql(statement)
            quoted = ["`" + name.replace("`", "``") + "`" for name in frame.columns]
            texts = frame.selectExpr(*(f"cast({name} as string)" for name in quoted)) if quoted else frame
            answers.append({"columns": frame.columns, "rows": [list(row) for row in texts.collect()]})
        except Exception as error:  # noqa: BLE001 whatever Spark raises is an answer too
            answers.append({"error": str(error)})
    Path(sys.argv[1]).write_text(json.dumps(answers))
    spark.stop()


if __name__ == "__main__":
    main()
