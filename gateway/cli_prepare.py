"""`delta-gateway prepare`: what starts are faster with, made once for this environment (`engine/exec/class_files.py`).

Java's archive has the classes of whatever ran before it is written, so statements of each kind run here, over a sample
lake in a temporary folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from catalog.errors import SqlError
from engine.exec.class_files import JAVA_OPTIONS, ClassFiles, archiving, compile_once
from engine.exec.session import SparkOptions
from engine.main import EngineOptions, open_engine
from engine.runtime.context import StatementContext
from engine.runtime.identity import Identity
from engine.sample.lake import ensure_sample_lake
from gateway.log_format import LogFormat, set_up_log

EXIT_FAILED = 1
_ARCHIVE_S = 300.0
"""It takes about 15 seconds to write."""
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that runs for seconds: a second compiler and more threads take more time than they give."""
_STATEMENTS = (
    "SELECT count(*), min(order_date), max(order_date) FROM shop.orders",
    "SELECT * FROM shop.orders WHERE order_id = 4711",
    "SELECT city, round(avg(temperature_c), 1), sum(rain_mm) FROM weather WHERE day < '2025-09-01' GROUP BY city",
    """
    SELECT c.country, p.category, sum(i.quantity * i.unit_price * (100 - i.discount_percent) / 100) AS revenue
    FROM shop.order_items i JOIN shop.orders o ON o.order_id = i.order_id
        JOIN shop.customers c ON c.customer_id = o.customer_id JOIN shop.products p ON p.product_id = i.product_id
    WHERE o.status = 'delivered' AND o.order_date >= '2025-10-01'
    GROUP BY c.country, p.category HAVING revenue > 1000 ORDER BY revenue DESC LIMIT 20
    """,
    """
    SELECT customer_id, order_id, rank() OVER (PARTITION BY customer_id ORDER BY ordered_at DESC) AS latest
    FROM shop.orders WHERE customer_id IN (SELECT customer_id FROM shop.customers WHERE is_business)
    """,
    "SELECT date_trunc('MONTH', ordered_at), channel, count(DISTINCT customer_id) FROM shop.orders GROUP BY ALL",
    "CREATE TABLE shop.made (id BIGINT NOT NULL, name STRING, price DECIMAL(10, 2), CONSTRAINT p CHECK (price > 0))",
    "INSERT INTO shop.made SELECT product_id, name, price FROM shop.products",
    "INSERT INTO shop.made VALUES (1000, 'one', 2.50)",
    "UPDATE shop.made SET price = price * 2 WHERE name LIKE 'Blue%'",
    "MERGE INTO shop.made t USING shop.products s ON t.id = s.product_id WHEN MATCHED AND s.price < 50 THEN DELETE"
    " WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (s.product_id, s.name, s.price)",
    "CREATE TABLE shop.days USING iceberg PARTITIONED BY (months(day)) AS SELECT * FROM weather",
    "DELETE FROM shop.days WHERE rain_mm > 10",
    "SELECT city, max(temperature_c) FROM shop.days GROUP BY city",
)


def main(arguments: Sequence[str]) -> int:
    """Make what is missing; the exit code."""
    argparse.ArgumentParser(prog="delta-gateway prepare", description=__doc__).parse_args(arguments)
    set_up_log("ERROR", LogFormat.TEXT, sys.stderr)
    try:
        files = compile_once()
        if files.archive is None:
            _archive(files)
    except (SqlError, OSError) as error:
        reason = error.message if isinstance(error, SqlError) else str(error)
        sys.stderr.write(f"delta-gateway: starts stay slower: {reason}\n")
        return EXIT_FAILED
    return 0


def _archive(files: ClassFiles) -> None:
    with tempfile.TemporaryDirectory(prefix="delta-gateway-prepare-") as name, archiving(files) as option:
        folder = Path(name)
        lake = folder / "lake"
        ensure_sample_lake(str(lake))
        conf = {JAVA_OPTIONS: f"{_QUICK} {option}", "spark.sql.shuffle.partitions": "2"}
        spark = SparkOptions(master="local[2]", driver_memory="1g", local_dir=name, conf=conf, exit_s=_ARCHIVE_S)
        engine = open_engine(
            EngineOptions(lake_folder=str(lake), catalog_folder=str(folder / "catalog"), spark=spark), _show
        )
        try:
            identity = Identity("prepare")
            session = engine.open_session(identity, settings={}, catalog=None, schema=None)
            _show("running statements of each kind")
            for text in _STATEMENTS:
                for _ in session.execute(text, StatementContext(identity=identity)).batches():
                    pass
            session.close()
        finally:
            _show("writing Java's archive of classes")
            engine.close()


def _show(step: str) -> None:
    sys.stderr.write(f"{step}\n")
