"""`delta-gateway prepare`: writes Java's archive of loaded classes, once for this environment, which speeds up each
start (`engine/spark/class_files.py`). `--with STORE` installs Spark's connector for an object store before
(`engine/spark/connectors.py`).

Java's archive contains the classes that were loaded before it is written, so statements of each kind run here, over a
sample lake in a temporary folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from catalog.errors import SqlError
from catalog.store.conditional_put import ensure_package
from engine.main import EngineOptions, open_engine
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.sample.data import SAMPLE_READS, SAMPLE_WRITES
from engine.sample.lake import ensure_sample_lake
from engine.spark.class_files import JAVA_OPTIONS, ClassFiles, archive_classes, find_class_files
from engine.spark.connectors import STORES, connectors_folder, install_connector
from engine.spark.session import SparkOptions
from gateway.cli.help import help_text
from gateway.configuration.config import LogFormat
from gateway.observability.log_format import set_up_log

EXIT_FAILED = 1
_NOTES = """\
Connectors come from Maven Central, or the mirror in Maven's settings.xml, and are checked by SHA-256. The Python
packages for a store come with pip install 'delta-gateway[s3]'. Spark has the client of hdfs.
"""
_EXAMPLES = ("delta-gateway prepare", "delta-gateway prepare --with s3")
# A URL of each store.
_URLS = {"s3": "s3://", "gcs": "gs://", "azure": "abfss://", "hdfs": "hdfs://"}
# Writing takes about 15 seconds.
_ARCHIVE_S = 300.0
# For a Java process that runs for seconds: the second compiler and more threads cost more time than they save.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main(arguments: Sequence[str]) -> int:
    """Creates missing files; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="delta-gateway prepare",
        description="Create files that speed up each start, once after an installation. Takes about a minute.",
        **help_text(_NOTES, _EXAMPLES, {"JAVA_HOME": "the Java to use; otherwise java on the PATH"}),
    )
    parser.add_argument(
        "--with",
        dest="stores",
        action="append",
        default=[],
        choices=STORES,
        help="install Spark's connector for this store; several times for several stores",
    )
    given = parser.parse_args(arguments)
    set_up_log("ERROR", LogFormat.TEXT, sys.stderr)
    try:
        for store in given.stores:
            _connect(store)
    except (SqlError, OSError) as error:
        reason = error.full_message if isinstance(error, SqlError) else str(error)
        sys.stderr.write(f"delta-gateway: {reason}\n")
        return EXIT_FAILED
    try:
        files = find_class_files()
        if files.archive is None:
            _archive(files)
    except (SqlError, OSError) as error:
        reason = error.full_message if isinstance(error, SqlError) else str(error)
        sys.stderr.write(f"delta-gateway: starts stay slower: {reason}\n")
        return EXIT_FAILED
    return 0


def _connect(store: str) -> None:
    ensure_package(_URLS[store])
    _show(f"getting Spark's connector for {store} with Maven")
    install_connector(store, connectors_folder())


def _archive(files: ClassFiles) -> None:
    with tempfile.TemporaryDirectory(prefix="delta-gateway-prepare-") as name, archive_classes(files) as option:
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
            for text in (*SAMPLE_READS, *SAMPLE_WRITES):
                for _ in session.execute(text, StatementRequest(identity=identity)).batches():
                    pass
            session.close()
        finally:
            _show("writing Java's archive of classes")
            engine.close()


def _show(step: str) -> None:
    sys.stderr.write(f"{step}\n")
