"""Installs Spark's connectors with a stand-in for Maven's client, and starts Spark without the connector of a lake."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from catalog.conditions import ConnectorNotFound, ConnectorNotInstallable
from engine.spark import connectors
from engine.spark.class_files import ClassFiles
from engine.spark.connectors import STORE_OF_SCHEME, STORES, install_connector, installed_jars
from engine.spark.session import SparkDriver, SparkOptions
from gateway.cli.prepare import main

LIST = tomllib.loads(connectors._LIST.read_text(encoding="utf-8"))
ARTIFACTS = {"org.example:connector:1.0": b"connector", "org.example:part-two:2.1.Final": b"part"}
# Copies a file for each dependency of the project, as `dependency:copy-dependencies` does.
MAVEN = """\
#!/bin/sh
echo "$@" > {log}
for argument in "$@"; do case "$argument" in -DoutputDirectory=*) out="${{argument#*=}}";; esac; done
printf %s {first} > "$out/connector-1.0.jar"
{second}
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of the only `mvn`; `connectors.toml` lists `ARTIFACTS` for s3."""
    listed = "".join(f'"{name}" = "{hashlib.sha256(data).hexdigest()}"\n' for name, data in ARTIFACTS.items())
    (tmp_path / "connectors.toml").write_text(f"[s3]\n{listed}[gcs]\n")
    monkeypatch.setattr(connectors, "_LIST", tmp_path / "connectors.toml")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def provide(
    folder: Path, *, first: str = "connector", second: str = 'printf part > "$out/part-two-2.1.Final.jar"'
) -> None:
    (folder / "mvn").write_text(MAVEN.format(log=folder / "log", first=first, second=second))
    (folder / "mvn").chmod(0o755)


def test_list_has_a_version_and_a_digest_for_each_jar_of_each_store() -> None:
    assert set(LIST) | {"hdfs"} == set(STORES)
    assert set(STORE_OF_SCHEME.values()) == set(LIST)
    for jars in LIST.values():
        for artifact, digest in jars.items():
            assert re.fullmatch(r"[\w.-]+:[\w.-]+:\d[\w.-]*", artifact)
            assert re.fullmatch(r"[0-9a-f]{64}", digest), artifact


def test_connector_is_installed_once(tmp_path: Path, maven: Path) -> None:
    provide(maven)
    folder = tmp_path / "connectors"
    (folder / "s3-of-another-release").mkdir(parents=True)
    assert installed_jars(folder) == ()
    assert install_connector("s3", folder)
    jars = installed_jars(folder)
    assert [(jar.name, jar.read_bytes()) for jar in jars] == [
        ("connector-1.0.jar", b"connector"),
        ("part-two-2.1.Final.jar", b"part"),
    ]
    assert [each.name for each in folder.iterdir()] == [jars[0].parent.name]
    assert ":copy-dependencies" in (maven / "log").read_text()
    (maven / "mvn").unlink()
    assert not install_connector("s3", folder)
    assert not install_connector("hdfs", folder)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"first": "other"}, r"org\.example:connector:1\.0 has the SHA-256 d9298a10\w+, not "),
        ({"second": "true"}, r"Maven did not download org\.example:part-two:2\.1\.Final"),
        ({"second": "echo '[ERROR] no such artifact'; exit 1"}, r"Maven failed: \[ERROR\] no such artifact"),
    ],
    ids=["other content", "a missing jar", "an error"],
)
def test_failed_installation_leaves_no_files(tmp_path: Path, maven: Path, case: dict[str, str], reason: str) -> None:
    provide(maven, **case)
    with pytest.raises(ConnectorNotInstallable, match=reason):
        install_connector("s3", tmp_path / "connectors")
    assert list((tmp_path / "connectors").iterdir()) == []


def test_missing_maven_is_named(
    tmp_path: Path, maven: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(maven))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert main(["--with", "s3"]) == 1
    error = capsys.readouterr().err
    assert "Spark's connector for s3 cannot be installed: Maven (mvn) is not installed." in error
    assert "apt-get install maven" in error


def test_jars_of_the_configuration_precede_connectors(tmp_path: Path) -> None:
    files = ClassFiles(tmp_path / "gateway.jar", tmp_path, (tmp_path / "a.jar", tmp_path / "b.jar"))
    path = files.settings({"spark.driver.extraClassPath": "/x/other.jar"})["spark.driver.extraClassPath"]
    assert path.split(os.pathsep) == [str(tmp_path / "gateway.jar"), "/x/other.jar", *map(str, files.connectors)]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("url", ["s3://bucket/lake", "s3a://bucket/lake", "gs://bucket/lake"])
def test_spark_does_not_start_without_the_connector_of_a_configured_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    store = STORE_OF_SCHEME[url.partition(":")[0]]
    with pytest.raises(ConnectorNotFound) as caught:
        SparkDriver.start(
            SparkOptions(master="local[1]", driver_memory="1g", needed_urls=("hdfs://host/lake", url)),
            allowed_functions=(),
            allowed_table_functions=(),
        )
    assert f"prepare --with {store}" in caught.value.full_message
    assert "not found" in caught.value.message
    assert url in caught.value.message
