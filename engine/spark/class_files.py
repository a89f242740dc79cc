"""A class cache for a Python environment: classes that each start of Java would otherwise compile and load again.

Half the processor time at a start is spent on classes: the gateway's are compiled, and about 19,000 are found in jars,
verified and linked. So `delta-gateway prepare` does both once:

    <environment>/share/delta-gateway/<digest of our sources and Spark's version>/gateway.jar
                                                                                 /classes-<its size>.jsa

The second file is Java's own archive for loaded classes (class data sharing, JEP 350), which it maps into memory. Java
starts without it if its own build or the class path differs from the archive's. But Java crashes on a truncated
archive, hence the size. An environment that is not prepared starts too, only more slowly. A user with write access to
these files can also write the gateway's code.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.spark.jvm import SPARK_VERSION, compile_classes, java_sources, launch_jvm, stop_jvm

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CLASS_PATH = "spark.driver.extraClassPath"
_JAR, _ARCHIVE = "gateway.jar", "classes-{}.jsa"


@dataclass(frozen=True, slots=True)
class ClassFiles:
    """A jar with compiled classes, and its related files."""

    jar: Path

    @property
    def archive(self) -> Path | None:
        """Returns Java's archive, if it is complete."""
        made = self.jar.parent.glob(_ARCHIVE.format("*"))
        return next((file for file in made if file.name == _ARCHIVE.format(file.stat().st_size)), None)

    def settings(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Returns `conf` for a start with these files. Options from `conf` stay last, which Java prefers."""
        given = conf.get(_CLASS_PATH)
        added = {_CLASS_PATH: f"{self.jar}{os.pathsep}{given}" if given else str(self.jar)}
        if (archive := self.archive) is not None:
            option = _quote_option(f"-XX:SharedArchiveFile={archive}")
            added[JAVA_OPTIONS] = f"{option} -Xlog:cds*=off {conf.get(JAVA_OPTIONS, '')}".rstrip()
        return {**conf, **added}


def find_class_files() -> ClassFiles | None:
    """Returns the cached files for the current sources and Spark."""
    found = _class_files()
    return found if found.jar.is_file() else None


def compile_once() -> ClassFiles:
    """Compiles the gateway's classes unless already done, in a separate Java. Raises `JavaNotFound` or
    `SparkUnavailable`.

    Cached files for other sources are removed.
    """
    files = _class_files()
    if not files.jar.is_file():
        _remove_others(files.jar.parent)
        with _beside(files.jar) as made:
            gateway = launch_jvm({})
            try:
                compile_classes(gateway, made)
            finally:
                stop_jvm(gateway)
            with suppress(FileExistsError):  # an archive contains its modification time
                # A link fails if another process was faster; replacing its jar would make
                # its archive invalid.
                os.link(made, files.jar)
    return files


@contextmanager
def archive_classes(files: ClassFiles) -> Iterator[str]:
    """Yields an option with which Java writes the archive of its loaded classes when it ends, within the block."""
    with _beside(files.jar) as made:
        yield _quote_option(f"-XX:ArchiveClassesAtExit={made}") + " -Xlog:cds*=off"
        if made.is_file():
            made.replace(files.jar.with_name(_ARCHIVE.format(made.stat().st_size)))


def _class_files() -> ClassFiles:
    digest = hashlib.sha256(SPARK_VERSION.encode())
    for name, text in java_sources():
        digest.update(f"\0{name}\0{text}".encode())
    folder = Path(sys.prefix) / "share" / "delta-gateway" / digest.hexdigest()[:32]
    return ClassFiles(folder / _JAR)


def _remove_others(folder: Path) -> None:
    if folder.parent.is_dir():
        for other in folder.parent.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)


@contextmanager
def _beside(file: Path) -> Iterator[Path]:
    """Yields a temporary path next to a file that is being written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=file.parent) as folder:
        yield Path(folder) / file.name


def _quote_option(option: str) -> str:
    """Quotes an option for Spark's launcher."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if any(each.isspace() for each in option) or escaped != option else option
