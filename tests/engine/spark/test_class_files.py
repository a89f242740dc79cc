"""Classes cached between Java starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.spark import class_files
from engine.spark.class_files import ClassFiles, find_class_files
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
    files = ClassFiles(remaining / "gateway.jar")
    (remaining / "classes-7.jsa").touch()  # which is cut off
    if is_archived:
        (remaining / "classes-0.jsa").touch()
    assert files.settings(given) == {key: value.replace("{}", str(tmp_path)) for key, value in expected.items()}


def test_class_files_of_other_sources_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert find_class_files() is None
    monkeypatch.setattr(class_files, "java_sources", lambda: [("A.java", "class A {}")])
    jar = class_files._class_files().jar
    jar.parent.mkdir(parents=True)
    jar.touch()
    assert find_class_files() == ClassFiles(jar)
    for sources in ([("A.java", "class A { }")], [("B.java", "class A {}")], []):
        monkeypatch.setattr(class_files, "java_sources", lambda sources=sources: sources)
        assert find_class_files() is None


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
print("/classes-" in jars, sorted(file.name for file in driver.spool_dir.parent.glob("*.jar")))
driver.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
def test_an_environment_is_prepared_once(tmp_path: Path) -> None:
    prefix = tmp_path / "an environment"
    old = prefix / "share" / "delta-gateway" / "of other sources"
    old.mkdir(parents=True)
    assert in_environment(prefix, START).stdout == "False ['gateway.jar']\n"
    made = in_environment(prefix, "from gateway.cli.prepare import main\nsys.exit(main([]))")
    assert made.returncode == 0, made.stderr
    (folder,) = old.parent.iterdir()
    assert sorted(file.suffix for file in folder.iterdir()) == [".jar", ".jsa"]
    before = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    started = in_environment(prefix, START)
    assert (started.stdout, started.returncode) == ("True []\n", 0), started.stderr
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
    assert (started.stdout, started.returncode) == ("False []\n", 0), started.stderr


def test_unwritable_class_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "share").write_text("no folder")
    made = in_environment(tmp_path, "from gateway.cli.prepare import main\nsys.exit(main([]))")
    assert made.returncode == 1
    assert made.stderr.startswith("delta-gateway: starts stay slower: ")
