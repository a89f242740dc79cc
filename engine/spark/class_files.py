"""The gateway's Java classes at a start: the jar from the package's build, and Java's archive of loaded classes.

Half the processor time at a start is spent on classes: about 19,000 are found in jars, verified and linked. So
`delta-gateway prepare` does it once for a Python environment:

    <environment>/share/delta-gateway/<digest of the jar and Spark's version>/classes-<its size>.jsa

This is Java's own archive of loaded classes (class data sharing, JEP 350), which it maps into memory. Java starts
without it if its own build or the class path differs from the archive's. But Java crashes on a truncated archive, hence
the size. An environment that is not prepared starts too, only more slowly. A user with write access to these files can
also write the gateway's code.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from catalog.conditions import JavaClassesOutdated
from engine.spark.connectors import connectors_folder, installed_jars
from engine.spark.gateway_jar import JAR, SOURCES, digest_of_sources, java_sources, read_stamp
from engine.spark.jvm import SPARK_VERSION

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CLASS_PATH = "spark.driver.extraClassPath"
_ARCHIVE = "classes-{}.jsa"


@dataclass(frozen=True, slots=True)
class ClassFiles:
    """The jar with the gateway's classes, the folder for Java's archive, and the jars of installed connectors."""

    jar: Path
    folder: Path
    connectors: tuple[Path, ...] = ()

    @property
    def archive(self) -> Path | None:
        """Returns Java's archive, if it is complete."""
        made = self.folder.glob(_ARCHIVE.format("*"))
        return next((file for file in made if file.name == _ARCHIVE.format(file.stat().st_size)), None)

    def settings(self, conf: Mapping[str, str]) -> dict[str, str]:
        """Returns `conf` for a start with these files. Options from `conf` stay last, which Java prefers."""
        # Jars of `conf` precede installed connectors: an operator may replace one.
        jars = (str(self.jar), *filter(None, [conf.get(_CLASS_PATH)]), *map(str, self.connectors))
        added = {_CLASS_PATH: os.pathsep.join(jars)}
        if (archive := self.archive) is not None:
            option = quote_option(f"-XX:SharedArchiveFile={archive}")
            added[JAVA_OPTIONS] = f"{option} -Xlog:cds*=off {conf.get(JAVA_OPTIONS, '')}".rstrip()
        return {**conf, **added}


def find_class_files(jar: Path = JAR, sources: Path = SOURCES) -> ClassFiles:
    """Returns the files for a start. Raises `JavaClassesOutdated` if the jar is missing or has other inputs.

    `sources` is a folder without Java files if the package was installed from a wheel.
    """
    stamp = read_stamp(jar)
    if stamp is None:
        raise JavaClassesOutdated(f"{jar} is missing or damaged")
    if stamp.spark != SPARK_VERSION:
        raise JavaClassesOutdated(f"{jar} was compiled for Spark {stamp.spark}, and pyspark is {SPARK_VERSION}")
    if java_sources(sources) and stamp.sources != digest_of_sources(sources):
        raise JavaClassesOutdated(f"{jar} was not compiled from the current sources in {sources}")
    # Java compares the jar's size and modification time with those in its archive.
    made = jar.stat()
    connectors = installed_jars(connectors_folder())
    key = "\0".join((SPARK_VERSION, str(jar), str(made.st_size), str(int(made.st_mtime)), *map(str, connectors)))
    digest = hashlib.sha256(key.encode()).hexdigest()
    return ClassFiles(jar, connectors_folder().parent / digest[:32], connectors)


@contextmanager
def archive_classes(files: ClassFiles) -> Iterator[str]:
    """Yields an option with which Java writes the archive of its loaded classes when it ends, within the block.

    Archives for other jars are removed.
    """
    _remove_others(files.folder)
    files.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=files.folder) as name:
        made = Path(name) / "classes.jsa"
        yield quote_option(f"-XX:ArchiveClassesAtExit={made}") + " -Xlog:cds*=off"
        if made.is_file():
            made.replace(files.folder / _ARCHIVE.format(made.stat().st_size))


def _remove_others(folder: Path) -> None:
    if folder.parent.is_dir():
        for other in folder.parent.iterdir():
            if other not in (folder, connectors_folder()):
                shutil.rmtree(other, ignore_errors=True)


def quote_option(option: str) -> str:
    """Quotes an option for Spark's launcher."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if any(each.isspace() for each in option) or escaped != option else option
