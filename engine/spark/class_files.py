"""Classes that each start of Java would make and load again, kept for a Python environment.

Half of a start's processor time goes into classes: ours are compiled, and some 19,000 are found in jars, checked and
linked. So both are done once, by `delta-gateway prepare`:

    <environment>/share/delta-gateway/<digest of our sources and Spark's version>/gateway.jar
                                                                                 /classes-<its size>.jsa

The second is Java's own archive of loaded classes (class data sharing, JEP 350), which it maps into memory. Java starts
without it where its own build or the class path is not the one that it was made with. But it dies of an archive that
was cut off, hence the size. An environment that is not prepared starts as well, only later. Whoever may write these
files may write the gateway's code too.
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
    """A jar of compiled classes, and what was made beside it."""

    jar: Path

    @property
    def archive(self) -> Path | None:
        """Java's archive, where it is there as a whole."""
        made = self.jar.parent.glob(_ARCHIVE.format("*"))
        return next((file for file in made if file.name == _ARCHIVE.format(file.stat().st_size)), None)

    def settings(self, conf: Mapping[str, str]) -> dict[str, str]:
        """`conf` for a start with these files. Options that `conf` has stay the last ones, which Java takes."""
        given = conf.get(_CLASS_PATH)
        added = {_CLASS_PATH: f"{self.jar}{os.pathsep}{given}" if given else str(self.jar)}
        if (archive := self.archive) is not None:
            option = _quoted(f"-XX:SharedArchiveFile={archive}")
            added[JAVA_OPTIONS] = f"{option} -Xlog:cds*=off {conf.get(JAVA_OPTIONS, '')}".rstrip()
        return {**conf, **added}


def find_class_files() -> ClassFiles | None:
    """What was kept of the sources and the Spark that are there now."""
    found = _class_files()
    return found if found.jar.is_file() else None


def compile_once() -> ClassFiles:
    """Compile our classes unless that was done, in a Java of their own. Raises `JavaNotFound` or `SparkUnavailable`.

    What was kept of other sources is removed.
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
            with suppress(FileExistsError):  # its time is in somebody's archive
                os.link(made, files.jar)
    return files


@contextmanager
def archiving(files: ClassFiles) -> Iterator[str]:
    """An option with which Java writes the archive of what it has loaded when it ends, within the block."""
    with _beside(files.jar) as made:
        yield _quoted(f"-XX:ArchiveClassesAtExit={made}") + " -Xlog:cds*=off"
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
    """A place for a file that is being made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=file.parent) as folder:
        yield Path(folder) / file.name


def _quoted(option: str) -> str:
    """As Spark's launcher takes options apart."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if any(each.isspace() for each in option) or escaped != option else option
