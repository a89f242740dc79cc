"""Compiles the tests of the Java classes and runs them with JUnit: `python -m tests.junit [OPTIONS]`.

The options are those of JUnit's console launcher, and two more; without any of JUnit's, all tests run. `spark-submit`
starts Java, because it knows the options that Spark needs, and all tests share its session.

- `--quick`: only tests without the tag `spark`, in a plain Java.
- `--coverage`: writes JaCoCo's report to `build/coverage-java` and prints the covered lines of each package.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyspark

from deploy.build_java import build_java, find_javac
from engine.spark.expressions import ALLOWED_EXPRESSIONS, REFUSED_EXPRESSIONS
from engine.spark.gateway_jar import JAR, SOURCES, TEST_SOURCES
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS
from tests.fix_spark import QUICK_JAVA
from tests.maven import take_jar
from tests.paths import ROOT

SPARK = Path(pyspark.__file__).parent
JUNIT = "org.junit.platform:junit-platform-console-standalone:6.0.1"
JUNIT_SHA256 = "3009120b7953bfe63add272e65b2bbeca0d41d0dfd8dea605201db15b640e0ff"
JUNIT_JAR = ROOT / ".junit" / "junit-console.jar"
JACOCO_AGENT = "org.jacoco:org.jacoco.agent:0.8.14:jar:runtime"
JACOCO_AGENT_SHA256 = "3fb76eea65f81bd9415202bab34b6571728841dff1ab8e6bbe81adc2e299face"
JACOCO_AGENT_JAR = ROOT / ".junit" / "jacoco-agent.jar"
JACOCO = "org.jacoco:org.jacoco.cli:0.8.14:jar:nodeps"
JACOCO_SHA256 = "811c7f8c6b358c5d68a8973cfa867f6892be7a671b697a4b13c4b447e6daf75c"
JACOCO_JAR = ROOT / ".junit" / "jacoco.jar"
REPORT = ROOT / "build" / "coverage-java"
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
    has_coverage, is_quick = "--coverage" in options, "--quick" in options
    options = [option for option in options if option not in ("--coverage", "--quick")]
    build_java()
    take_jar(JUNIT, JUNIT_JAR, JUNIT_SHA256)
    with tempfile.TemporaryDirectory(prefix="delta-gateway-junit-") as name:
        folder = Path(name)
        classes = folder / "classes"
        compile_tests(classes)
        for list_name, items in LISTS.items():
            write_list(folder / list_name, items)
        java_options = f"{QUICK_JAVA} -Dgateway.test.lists={folder}"
        if has_coverage:
            take_jar(JACOCO_AGENT, JACOCO_AGENT_JAR, JACOCO_AGENT_SHA256)
            java_options += f" -javaagent:{JACOCO_AGENT_JAR}=destfile={folder / 'jacoco.exec'},includes=deltagateway.*"
        start = without_spark(classes) if is_quick else launcher(folder, classes, java_options)
        command = [*start, *(options or scan(classes))]
        code = subprocess.run(command, cwd=folder).returncode
        if has_coverage:
            report_coverage(folder / "jacoco.exec")
        return code


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


def report_coverage(executed: Path) -> None:
    """Writes JaCoCo's report and prints the covered lines of each package."""
    take_jar(JACOCO, JACOCO_JAR, JACOCO_SHA256)
    REPORT.mkdir(parents=True, exist_ok=True)
    table = REPORT / "jacoco.csv"
    command = ["java", "-jar", str(JACOCO_JAR), "report", str(executed), "--classfiles", str(JAR), "--quiet"]
    command += ["--sourcefiles", str(SOURCES), "--html", str(REPORT), "--csv", str(table)]
    subprocess.run(command, check=True)
    covered: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    with table.open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            for package in (row["PACKAGE"], "all"):
                covered[package] += int(row["LINE_COVERED"])
                lines[package] += int(row["LINE_COVERED"]) + int(row["LINE_MISSED"])
    for package in sorted(lines, key=lambda name: (name == "all", name)):
        print(f"{covered[package] / lines[package]:7.1%} of {lines[package]:5} lines  {package}")


def launcher(folder: Path, classes: Path, java_options: str) -> list[str]:
    """Returns the command that starts JUnit in a Spark, without JUnit's options."""
    conf = {
        **CONF,
        "spark.driver.extraClassPath": f"{JAR}:{JUNIT_JAR}:{classes}",
        "spark.driver.extraJavaOptions": java_options,
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    command = [str(SPARK / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, "--class", "org.junit.platform.console.ConsoleLauncher", str(JUNIT_JAR), "execute"]


def without_spark(classes: Path) -> list[str]:
    """Returns the command that starts JUnit in a plain Java, for the tests that need no session."""
    class_path = f"{classes}:{JAR}:{JUNIT_JAR}:{SPARK / 'jars' / '*'}"
    return ["java", "-cp", class_path, "org.junit.platform.console.ConsoleLauncher", "execute", "--exclude-tag=spark"]


def scan(classes: Path) -> list[str]:
    """Returns JUnit's options for all tests."""
    return [f"--scan-class-path={classes}", "--disable-banner", "--details=summary", "--fail-if-no-tests"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
