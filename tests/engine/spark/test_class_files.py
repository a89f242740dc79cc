"""The jar and the archive of loaded classes at a start, and jars that do not fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.conditions import JavaClassesOutdated
from engine.spark.class_files import ClassFiles, find_class_files
from engine.spark.gateway_jar import STAMP, JarStamp, digest_of_sources
from engine.spark.jvm import SPARK_VERSION
from tests.paths import ROOT

OPTIONS, PATH = "spark.driver.extraJavaOptions", "spark.driver.extraClassPath"


@pytest.mark.parametrize(
    ("folder", "given", "is_archived", "expected"),
    [
        ("kept", {}, False, {PATH: "{}/kept/gateway.jar"}),
        ("kept", {OPTIONS: "-Xss4m", "a": "b"}, False, {PATH: "{}/kept/gateway.jar", OPTIONS: "-Xss4m", "a": "b"}),
        (
            "kept",
            {},
            True,
            {PATH: "{}/kept/gateway.jar", OPTIONS: "-XX:SharedArchiveFile={}/kept/classes-0.jsa -Xlog:cds*=off"},
        ),
        (
            "a \"b' \\c",
            {PATH: "/x/other.jar", OPTIONS: "-Xss4m"},
            True,
            {
                PATH: "{}/a \"b' \\c/gateway.jar:/x/other.jar",
                OPTIONS: '"-XX:SharedArchiveFile={}/a \\"b\' \\\\c/classes-0.jsa" -Xlog:cds*=off -Xss4m',
            },
        ),
    ],
    ids=["only a jar", "beside others", "an archive", "names with spaces and quotes"],
)
def test_settings(
    tmp_path: Path, folder: str, given: dict[str, str], is_archived: bool, expected: dict[str, str]
) -> None:
    remaining = tmp_path / folder
    remaining.mkdir()
    files = ClassFiles(remaining / "gateway.jar", remaining)
    (remaining / "classes-7.jsa").touch()  # which is cut off
    if is_archived:
        (remaining / "classes-0.jsa").touch()
    assert files.settings(given) == {key: value.replace("{}", str(tmp_path)) for key, value in expected.items()}


@pytest.fixture
def built(tmp_path: Path) -> tuple[Path, Path]:
    """Returns a jar, and the folder with its sources."""
    sources, jar = tmp_path / "java", tmp_path / "java" / "build" / "gateway.jar"
    jar.parent.mkdir(parents=True)
    (sources / "A.java").write_text("class A {}")
    (sources / "B.java").write_text("class B {}")
    write_stamp(jar, JarStamp(SPARK_VERSION, digest_of_sources(sources), ""))
    return jar, sources


def write_stamp(jar: Path, stamp: JarStamp) -> None:
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(STAMP, stamp.to_json())


def test_jar_of_current_sources_is_found(built: tuple[Path, Path]) -> None:
    files = find_class_files(*built)
    assert files.jar == built[0]
    assert files.folder.parent == Path(sys.prefix) / "share" / "delta-gateway"
    assert find_class_files(*built) == files


@pytest.mark.parametrize(
    "change",
    [
        lambda sources: (sources / "A.java").write_text("class A { }"),
        lambda sources: (sources / "C.java").write_text("class C {}"),
        lambda sources: (sources / "B.java").unlink(),
        lambda sources: (sources / "B.java").rename(sources / "D.java"),
    ],
    ids=["changed", "added", "removed", "renamed"],
)
def test_jar_of_other_sources_is_rejected(built: tuple[Path, Path], change: Callable[[Path], object]) -> None:
    jar, sources = built
    change(sources)
    with pytest.raises(JavaClassesOutdated, match=re.escape(f"{jar} was not compiled from the current sources")):
        find_class_files(jar, sources)


def test_jar_of_another_spark_is_rejected(built: tuple[Path, Path]) -> None:
    jar, sources = built
    write_stamp(jar, JarStamp("4.2.0", digest_of_sources(sources), ""))
    with pytest.raises(JavaClassesOutdated, match=rf"was compiled for Spark 4\.2\.0, and pyspark is {SPARK_VERSION}"):
        find_class_files(jar, sources)


@pytest.mark.parametrize("content", [None, b"", b"no zip file"], ids=["missing", "empty", "garbage"])
def test_missing_or_damaged_jar_is_rejected(built: tuple[Path, Path], content: bytes | None) -> None:
    jar, sources = built
    jar.unlink()
    if content is not None:
        jar.write_bytes(content)
    with pytest.raises(JavaClassesOutdated, match=r"(?s)is missing or damaged\..*`make install`"):
        find_class_files(jar, sources)


def test_installed_wheel_has_no_sources_to_compare(built: tuple[Path, Path]) -> None:
    jar, sources = built
    for file in sources.glob("*.java"):
        file.unlink()
    assert find_class_files(jar, sources).jar == jar


def test_archive_of_another_jar_is_ignored(built: tuple[Path, Path]) -> None:
    jar, sources = built
    before = find_class_files(jar, sources)
    os.utime(jar, (1, 1))
    assert find_class_files(jar, sources) == replace(before, folder=find_class_files(jar, sources).folder)
    assert find_class_files(jar, sources).folder != before.folder


def in_environment(prefix: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run `script` as if the Python environment were at `prefix`."""
    script = f"import sys\nsys.prefix = {str(prefix)!r}\n{script}"
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=280)


START = """
from pathlib import Path
from tests.engine.spark.scans import rows
from tests.fix_spark import start_spark
driver = start_spark()
assert rows(driver.open_session(), "SELECT sum(id) FROM range(0, 1000, 1, 3)") == [(499500,)]
jars = Path(f"/proc/{driver.process.process_id}/maps").read_text()
print("/classes-" in jars)
driver.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_an_environment_is_prepared_once(tmp_path: Path) -> None:
    prefix = tmp_path / "an environment"
    old = prefix / "share" / "delta-gateway" / "of other sources"
    old.mkdir(parents=True)
    assert in_environment(prefix, START).stdout == "False\n"
    made = in_environment(prefix, "from gateway.cli.prepare import main\nsys.exit(main([]))")
    assert made.returncode == 0, made.stderr
    (folder,) = old.parent.iterdir()
    assert [file.suffix for file in folder.iterdir()] == [".jsa"]
    before = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    started = in_environment(prefix, START)
    assert (started.stdout, started.returncode) == ("True\n", 0), started.stderr
    again = in_environment(prefix, "from gateway.cli.prepare import main\nsys.exit(main([]))")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == before


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_an_archive_that_does_not_fit_is_left_alone(tmp_path: Path, damage: str) -> None:
    assert in_environment(tmp_path, "from gateway.cli.prepare import main\nsys.exit(main([]))").returncode == 0
    (archive,) = tmp_path.glob("share/delta-gateway/*/classes-*.jsa")
    content = archive.read_bytes()
    archive.chmod(0o644)
    archive.write_bytes(content[: len(content) // 2] if damage == "cut" else bytes(len(content)))
    started = in_environment(tmp_path, START)
    assert (started.stdout, started.returncode) == ("False\n", 0), started.stderr


def test_unwritable_class_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "share").write_text("no folder")
    made = in_environment(tmp_path, "from gateway.cli.prepare import main\nsys.exit(main([]))")
    assert made.returncode == 1
    assert made.stderr.startswith("delta-gateway: starts stay slower: ")
