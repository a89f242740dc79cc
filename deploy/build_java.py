"""Compiles the gateway's Java classes into one jar, against the jars of the installed pyspark.

The package's build runs this for wheels and for editable installs (`build_backend.py`). It needs the javac of a JDK 17
or newer; a machine that installs a wheel needs a Java runtime only. A jar is reused if it has the same inputs. The same
inputs and javac result in the same bytes.

To build manually, in an environment with pyspark: `python -m deploy.build_java`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from deploy.scala_classes import write_copies
from engine.spark.gateway_jar import JAR, SOURCES, STAMP, JarStamp, digest_of_sources, java_sources, read_stamp

RELEASE = 17
OPTIONS = ("--release", str(RELEASE), "-g", "-encoding", "UTF-8", "-proc:none", "-Xlint:none", "-nowarn")
# The earliest time that zip files can express.
_TIME = (1980, 1, 1, 0, 0, 0)


def build_java(folder: Path = SOURCES, jar: Path = JAR) -> None:
    """Compiles the Java files in `folder` into `jar`, unless it is up to date. Exits with a message if it cannot."""
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        raise SystemExit("Building the Java classes requires pyspark, which is not installed.") from None
    stamp = JarStamp(spark, digest_of_sources(folder), " ".join(OPTIONS))
    if read_stamp(jar) == stamp:
        return
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=jar.parent) as name:
        if compile_java(folder, Path(name), OPTIONS):
            raise SystemExit(f"javac could not compile the Java classes in {folder}.")
        made = Path(name) / jar.name
        _write_jar(made, Path(name) / "classes", stamp)
        made.replace(jar)  # a running Java keeps reading the old file


def compile_java(sources: Path, folder: Path, options: Sequence[str]) -> int:
    """Compiles the Java files in `sources` into `folder / "classes"`; returns javac's exit code."""
    jars, copies = _spark_jars(), folder / "copies"
    write_copies(jars, copies)
    class_path = f"{copies}{os.pathsep}{jars / '*'}"
    command = [find_javac(), *options, "-cp", class_path, "-d", str(folder / "classes")]
    command += map(str, java_sources(sources))
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode


def find_javac() -> str:
    """Returns the javac in JAVA_HOME, else the first in PATH; exits with a message if it is missing or too old."""
    home = os.environ.get("JAVA_HOME")
    of_home = shutil.which("javac", path=str(Path(home) / "bin")) if home else None
    javac = of_home or shutil.which("javac")
    if javac is None:
        raise SystemExit(_message("there is no javac in JAVA_HOME or PATH"))
    shown = subprocess.run([javac, "-version"], capture_output=True, text=True)
    found = re.match(r"javac (?:1\.)?(\d+)", shown.stdout + shown.stderr)
    if found is None or int(found[1]) < RELEASE:
        raise SystemExit(_message(f"{javac} is {found[1] if found else 'of an unknown version'}"))
    return javac


def _message(reason: str) -> str:
    return (
        f"Building the Java classes requires a JDK {RELEASE} or newer: {reason}. Install one"
        f" (on Debian: apt-get install openjdk-{RELEASE}-jdk-headless), or set JAVA_HOME to its folder."
    )


def _spark_jars() -> Path:
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "jars"


def _write_jar(jar: Path, classes: Path, stamp: JarStamp) -> None:
    contents = {file.relative_to(classes).as_posix(): file.read_bytes() for file in classes.rglob("*.class")}
    contents["META-INF/MANIFEST.MF"] = b"Manifest-Version: 1.0\r\n\r\n"
    contents[STAMP] = stamp.to_json().encode()
    with zipfile.ZipFile(jar, "w") as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, contents[name])


if __name__ == "__main__":
    build_java()
