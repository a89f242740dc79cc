"""Compiles the Java sources with Error Prone, whose findings are errors: `python -m tests.error_prone`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from deploy.build_java import LINT, compile_java
from engine.spark.gateway_jar import SOURCES
from tests.maven import take_jar
from tests.paths import ROOT

# The last release that runs in Java 17, and the library that its jar leaves out.
ERROR_PRONE = "com.google.errorprone:error_prone_core:2.42.0:jar:with-dependencies"
ERROR_PRONE_SHA256 = "f9e747a2ff76dfae6bc0f71fc8c259b7493ecc093a96d3223d5b2669a996b0a7"
DATAFLOW = "io.github.eisop:dataflow-errorprone:3.41.0-eisop1"
DATAFLOW_SHA256 = "10434fba4e53f55fa9c76904cde414b918932548c9dfc4e2d634ac05ff7a7d10"
# Packages of javac that Error Prone uses, which Java does not export.
_EXPORTED = ("api", "file", "main", "model", "parser", "processing", "tree", "util")
_OPENED = ("code", "comp")
# Checks of style, and those that do not fit: signatures of Spark, identity of plan nodes, catch blocks that go on.
_OFF = (
    "ArrayRecordComponent",
    "IdentityHashMapUsage",
    "ImmutableEnumChecker",
    "IntLongMath",
    "JavaLocalDateTimeGetNano",
    "JavaUtilDate",
    "NonApiType",
    "OperatorPrecedence",
    "RedundantControlFlow",
    "ReferenceEquality",
    "StringSplitter",
    "ThreadPriorityCheck",
)


def main() -> int:
    """Returns javac's exit code."""
    jars = (
        take_jar(ERROR_PRONE, ROOT / ".junit" / "error-prone.jar", ERROR_PRONE_SHA256),
        take_jar(DATAFLOW, ROOT / ".junit" / "dataflow.jar", DATAFLOW_SHA256),
    )
    options = [
        *LINT,
        *(f"-J--add-exports=jdk.compiler/com.sun.tools.javac.{name}=ALL-UNNAMED" for name in _EXPORTED),
        *(f"-J--add-opens=jdk.compiler/com.sun.tools.javac.{name}=ALL-UNNAMED" for name in _OPENED),
        "-XDcompilePolicy=simple",
        "--should-stop=ifError=FLOW",
        "-processorpath",
        ":".join(map(str, jars)),
        " ".join(["-Xplugin:ErrorProne", *(f"-Xep:{check}:OFF" for check in _OFF)]),
    ]
    with tempfile.TemporaryDirectory() as name:
        return compile_java(SOURCES, Path(name), options)


if __name__ == "__main__":
    sys.exit(main())
