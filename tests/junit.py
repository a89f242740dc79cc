"""Compiles the tests of the Java classes and runs them with JUnit: `python -m tests.junit [OPTIONS]`.

The options are those of JUnit's console launcher; without any, all tests run. `spark-submit` starts Java, because it
knows the options that Spark needs, and all tests share its session.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyspark

from deploy.build_java import build_java, find_javac
from engine.spark.expressions import ALLOWED_EXPRESSIONS, REFUSED_EXPRESSIONS
from engine.spark.gateway_jar import JAR, TEST_SOURCES
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS
from tests.fix_spark import QUICK_JAVA
from tests.maven import take_jar
from tests.paths import ROOT

SPARK = Path(pyspark.__file__).parent
JUNIT = "org.junit.platform:junit-platform-console-standalone:6.0.1"
JUNIT_SHA256 = "3009120b7953bfe63add272e65b2bbeca0d41d0dfd8dea605201db15b640e0ff"
JUNIT_JAR = ROOT / ".junit" / "junit-console.jar"
# The lists that the guard has in a server, for the tests: a file each.
LISTS = {
    "functions": ALLOWED_FUNCTIONS,
    "tableFunctions": ALLOWED_TABLE_FUNCTIONS,
    "expressions": ALLOWED_EXPRESSIONS,
    "refusedExpressions": REFUSED_EXPRESSIONS,
}
# Without warnings about the class files of other projects and the class paths in their manifests.
LINT = ("-Xlint:all,-classfile,-path", "-Werror")
CONF = {
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


def main(options: Sequence[str]) -> int:
    """Returns JUnit's exit code."""
    build_java()
    take_jar(JUNIT, JUNIT_JAR, JUNIT_SHA256)
    with tempfile.TemporaryDirectory(prefix="delta-gateway-junit-") as name:
        folder = Path(name)
        classes = folder / "classes"
        compile_tests(classes)
        for list_name, items in LISTS.items():
            write_list(folder / list_name, items)
        return subprocess.run([*launcher(folder, classes), *(options or scan(classes))], cwd=folder).returncode


def compile_tests(classes: Path) -> None:
    """Compiles the tests; a warning is an error."""
    command = [
        find_javac(),
        "--release",
        "17",
        "-encoding",
        "UTF-8",
        "-proc:none",
        "-Xlint:all,-classfile,-path",
        "-Werror",
    ]
    command += ["-cp", f"{JAR}:{JUNIT_JAR}:{SPARK / 'jars' / '*'}", "-d", str(classes)]
    if subprocess.run([*command, *map(str, sorted(TEST_SOURCES.rglob("*.java")))]).returncode:
        raise SystemExit("javac could not compile the tests without warnings.")


def write_list(file: Path, items: Iterable[str]) -> None:
    """Writes a list that the tests read, with a line for each item."""
    file.write_text("\n".join(sorted(items)), encoding="utf-8")


def launcher(folder: Path, classes: Path) -> list[str]:
    """Returns the command that starts JUnit in a Spark, without JUnit's options."""
    conf = {
        **CONF,
        "spark.driver.extraClassPath": f"{JAR}:{JUNIT_JAR}:{classes}",
        "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Dgateway.test.lists={folder}",
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    command = [str(SPARK / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, "--class", "org.junit.platform.console.ConsoleLauncher", str(JUNIT_JAR), "execute"]


def scan(classes: Path) -> list[str]:
    """Returns JUnit's options for all tests."""
    return [f"--scan-class-path={classes}", "--disable-banner", "--details=summary", "--fail-if-no-tests"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
