"""Formats the Java sources with google-java-format: `python -m tests.java_format [--check]`.

`--check` changes nothing, lists files that are not formatted, and exits with 1 if there are any.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from engine.spark.gateway_jar import SOURCES, TEST_SOURCES, java_sources
from tests.maven import take_jar
from tests.paths import ROOT

# The last release that runs in Java 17.
FORMATTER = "com.google.googlejavaformat:google-java-format:1.28.0:jar:all-deps"
FORMATTER_SHA256 = "32342e7c1b4600f80df3471da46aee8012d3e1445d5ea1be1fb71289b07cc735"
FORMATTER_JAR = ROOT / ".junit" / "google-java-format.jar"


def main(options: Sequence[str]) -> int:
    """Returns the formatter's exit code."""
    take_jar(FORMATTER, FORMATTER_JAR, FORMATTER_SHA256)
    action = ["--dry-run", "--set-exit-if-changed"] if "--check" in options else ["--replace"]
    files = [*java_sources(SOURCES), *java_sources(TEST_SOURCES)]
    return subprocess.run(["java", "-jar", str(FORMATTER_JAR), *action, *map(str, files)]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
