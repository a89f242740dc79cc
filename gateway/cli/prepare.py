"""`delta-gateway prepare`: writes Java's archive of loaded classes, once for this environment, which speeds up each
start (`engine/spark/class_files.py`).

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
from engine.main import EngineOptions, open_engine
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.sample.data import SAMPLE_READS, SAMPLE_WRITES
from engine.sample.lake import ensure_sample_lake
from engine.spark.class_files import JAVA_OPTIONS, ClassFiles, archive_classes, find_class_files
from engine.spark.session import SparkOptions
from gateway.cli.help import help_text
from gateway.configuration.config import LogFormat
from gateway.observability.log_format import set_up_log

EXIT_FAILED = 1
# Writing takes about 15 seconds.
_ARCHIVE_S = 300.0
# For a Java process that runs for seconds: the second compiler and more threads cost more time than they save.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main(arguments: Sequence[str]) -> int:
    """Creates missing files; returns the exit code."""
    argparse.ArgumentParser(
        prog="delta-gateway prepare",
        description="Create files that speed up each start, once after an installation. Takes about a minute.",
        **help_text("", ("delta-gateway prepare",), {"JAVA_HOME": "the Java to use; otherwise java on the PATH"}),
    ).parse_args(arguments)
    set_up_log("ERROR", LogFormat.TEXT, sys.stderr)
    try:
        files = find_class_files()
        if files.archive is None:
            _archive(files)
    except (SqlError, OSError) as error:
        reason = error.full_message if isinstance(error, SqlError) else str(error)
        sys.stderr.write(f"delta-gateway: starts stay slower: {reason}\n")
        return EXIT_FAILED
    return 0


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
