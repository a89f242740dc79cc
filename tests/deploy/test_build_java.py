"""The build of the Java classes: one jar, the same bytes for the same sources, and errors that end the build."""

from __future__ import annotations

import operator
import shutil
import subprocess
import zipfile
from pathlib import Path

import pyspark
import pytest

from deploy.build_java import build_java, find_javac
from deploy.scala_classes import hide_methods
from engine.spark.gateway_jar import STAMP, digest_of_sources, read_stamp

# It extends a class of Spark, has a class within, and a method that uses generics and a lambda.
FIRST = """\
package sample;

final class First extends scala.runtime.AbstractFunction1<String, Integer> {
  static final class Inner {}

  public Integer apply(String text) {
    return java.util.List.of(text).stream().mapToInt(each -> each.length()).sum();
  }
}
"""
SECOND = "package sample;\n\npublic record Second(int number) {}\n"


def sources(folder: Path) -> Path:
    folder.mkdir()
    (folder / "First.java").write_text(FIRST)
    (folder / "Second.java").write_text(SECOND)
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the jar of :func:`sources`, which no test changes."""
    folder = sources(tmp_path_factory.mktemp("built") / "java")
    jar = folder / "build" / "gateway.jar"
    build_java(folder, jar)
    return jar


def test_jar_has_the_classes_and_the_stamp_of_its_sources(built: Path) -> None:
    jar, folder = built, built.parent.parent
    assert zipfile.ZipFile(jar).namelist() == [
        "META-INF/MANIFEST.MF",
        STAMP,
        "sample/First$Inner.class",
        "sample/First.class",
        "sample/Second.class",
    ]
    stamp = read_stamp(jar)
    assert stamp is not None and stamp.sources == digest_of_sources(folder)
    assert [file.name for file in jar.parent.iterdir()] == ["gateway.jar"]


def test_same_sources_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    jar = tmp_path / "gateway.jar"
    build_java(sources(tmp_path / "java"), jar)
    assert jar.read_bytes() == built.read_bytes()


def test_jar_is_built_again_only_for_other_sources(built: Path, tmp_path: Path) -> None:
    folder = sources(tmp_path / "java")
    jar = Path(shutil.copy(built, tmp_path))
    before = jar.stat().st_mtime_ns
    build_java(folder, jar)
    assert jar.stat().st_mtime_ns == before
    (folder / "Second.java").unlink()
    build_java(folder, jar)
    assert "sample/Second.class" not in zipfile.ZipFile(jar).namelist()


def test_error_of_the_compiler_ends_the_build_and_keeps_the_jar(built: Path, tmp_path: Path) -> None:
    folder = sources(tmp_path / "java")
    jar = Path(shutil.copy(built, tmp_path))
    before = jar.read_bytes()
    (folder / "Second.java").write_text("package sample;\n\nclass Second { int number = no; }\n")
    with pytest.raises(SystemExit, match=f"javac could not compile the Java classes in {folder}"):
        build_java(folder, jar)
    assert jar.read_bytes() == before


EXTENDING = """\
final class Extending extends org.apache.spark.sql.catalyst.expressions.Literal {
  private static final long serialVersionUID = 1L;

  Extending() {
    super(1, org.apache.spark.sql.types.DataTypes.IntegerType);
  }
}
"""


def test_class_may_extend_a_class_of_spark_that_inherits_from_traits(tmp_path: Path) -> None:
    folder = tmp_path / "java"
    folder.mkdir()
    source = folder / "Extending.java"
    source.write_text(EXTENDING)
    jars = Path(pyspark.__file__).parent / "jars"
    alone = [find_javac(), "-proc:none", "-cp", f"{jars}/*", "-d", str(tmp_path / "classes"), str(source)]
    rejected = subprocess.run(alone, capture_output=True, text=True)
    assert "withNewChildrenInternal(IndexedSeq) in LeafExpression cannot override" in rejected.stderr
    build_java(folder, tmp_path / "gateway.jar")
    assert "Extending.class" in zipfile.ZipFile(tmp_path / "gateway.jar").namelist()


def test_method_that_a_class_of_spark_lost_is_named(tmp_path: Path) -> None:
    (file,) = (Path(pyspark.__file__).parent / "jars").glob("spark-catalyst_*.jar")
    name = "org/apache/spark/sql/catalyst/expressions/LeafExpression.class"
    content = zipfile.ZipFile(file).read(name)
    hidden = hide_methods(content, frozenset({"mapChildren"}))
    assert len(hidden) == len(content) and sum(map(operator.ne, hidden, content)) == 1
    with pytest.raises(ValueError, match="no methods \\['absent'\\]"):
        hide_methods(content, frozenset({"mapChildren", "absent"}))


def fake_javac(folder: Path, version_line: str) -> Path:
    javac = folder / "bin" / "javac"
    javac.parent.mkdir(parents=True)
    javac.write_text(f"#!/bin/sh\necho '{version_line}'\n")
    javac.chmod(0o755)
    return javac


def test_javac_of_java_home_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_home, of_path = fake_javac(tmp_path / "home", "javac 21.0.2"), fake_javac(tmp_path / "path", "javac 17.0.15")
    monkeypatch.setenv("PATH", f"{of_path.parent}:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_javac() == str(of_home)
    of_home.unlink()  # JAVA_HOME is a runtime without a compiler
    assert find_javac() == str(of_path)


@pytest.mark.parametrize(("version_line", "reason"), [("javac 11.0.2", "is 11"), ("javac 1.8.0_402", "is 8")])
def test_old_javac_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version_line: str, reason: str) -> None:
    fake_javac(tmp_path, version_line)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SystemExit, match=f"requires a JDK 17 or newer: .*{reason}"):
        find_javac()


def test_build_without_javac_names_the_package_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="no javac in JAVA_HOME or PATH.*openjdk-17-jdk-headless"):
        build_java(sources(tmp_path / "java"), tmp_path / "gateway.jar")
