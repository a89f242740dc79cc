"""Hadoop's connectors, with which Spark reads and writes object stores.

They are not part of the package. `delta-gateway prepare --with s3` (gcs, azure) installs the jars of `connectors.toml`:

    <environment>/share/delta-gateway/connectors/<store>-<digest of the list>/

Maven's client gets them, so that the mirrors and proxies of its `settings.xml` apply, and each jar must have the
SHA-256 of the list. All jars below this folder are on Spark's class path, and executors in other processes get them
from the driver. HDFS needs none: Spark has its client.

`python -m engine.spark.connectors STORE FOLDER` installs them where the package is not installed, as in the build of an
image; the module imports no other library.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from catalog.conditions import ConnectorNotInstallable

# The stores that `--with` accepts.
STORES = ("s3", "gcs", "azure", "hdfs")
# The store whose connector has a scheme.
STORE_OF_SCHEME: Mapping[str, str] = MappingProxyType(
    {"s3": "s3", "s3a": "s3", "gs": "gcs", "abfs": "azure", "abfss": "azure"}
)
_LIST = Path(__file__).with_name("connectors.toml")
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_MAVEN_S = 1800.0

# The connectors' classes for the schemes that Hadoop's own defaults do not name.
CONNECTOR_CONF: Mapping[str, str] = MappingProxyType(
    {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
        "spark.hadoop.fs.gs.impl": "org.apache.hadoop.fs.gs.GoogleHadoopFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.gs.impl": "org.apache.hadoop.fs.gs.Gs",
    }
)


def connectors_folder() -> Path:
    """Returns the folder of this environment's connectors, which may not exist."""
    return Path(sys.prefix) / "share" / "delta-gateway" / "connectors"


def installed_jars(folder: Path) -> tuple[Path, ...]:
    """Returns the jars of the installed connectors whose lists belong to this release, in a fixed order."""
    stores = tomllib.loads(_LIST.read_text(encoding="utf-8"))
    return tuple(jar for store, jars in stores.items() for jar in sorted(_place(folder, store, jars).glob("*.jar")))


def install_connector(store: str, folder: Path) -> bool:
    """Installs a store's connector; returns False if nothing is to be done. Raises `ConnectorNotInstallable`."""
    jars = tomllib.loads(_LIST.read_text(encoding="utf-8")).get(store)
    if jars is None or (place := _place(folder, store, jars)).is_dir():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=folder) as name:
        _copy_jars(store, jars, Path(name))
        for artifact, sha256 in jars.items():
            _verify(store, artifact, Path(name, _file_name(artifact)), sha256)
        for other in folder.glob(f"{store}-*"):  # of another release
            shutil.rmtree(other)
        made = Path(name, "jars")
        made.mkdir(mode=0o755)
        for artifact in jars:
            Path(name, _file_name(artifact)).rename(made / _file_name(artifact))
        made.rename(place)
    return True


def _place(folder: Path, store: str, jars: Mapping[str, str]) -> Path:
    return folder / f"{store}-{hashlib.sha256(repr(sorted(jars.items())).encode()).hexdigest()[:16]}"


def _copy_jars(store: str, jars: Mapping[str, str], folder: Path) -> None:
    project = folder / "pom.xml"
    project.write_text("\n".join(_project(jars)), encoding="utf-8")
    command = ["mvn", "--quiet", "--batch-mode", "--file", str(project), _PLUGIN, f"-DoutputDirectory={folder}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_MAVEN_S, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise ConnectorNotInstallable(store, "Maven (mvn) is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise ConnectorNotInstallable(store, f"Maven did not end within {_MAVEN_S:g} s") from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stdout.splitlines() if line.startswith("[ERROR]")]
        raise ConnectorNotInstallable(store, f"Maven failed: {lines[0] if lines else error}") from error


def _project(jars: Mapping[str, str]) -> Iterator[str]:
    """Yields the lines of a Maven project that depends on exactly these jars."""
    yield '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    yield "<groupId>delta-gateway</groupId><artifactId>connector</artifactId><version>1</version><dependencies>"
    for artifact in jars:
        group, name, version = artifact.split(":")
        yield f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        yield "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
        yield "</dependency>"
    yield "</dependencies></project>"


def _verify(store: str, artifact: str, file: Path, sha256: str) -> None:
    try:
        with file.open("rb") as content:
            actual = hashlib.file_digest(content, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise ConnectorNotInstallable(store, f"Maven did not download {artifact}") from error
    if actual != sha256:
        raise ConnectorNotInstallable(store, f"{artifact} has the SHA-256 {actual}, not {sha256}")


def _file_name(artifact: str) -> str:
    _, name, version = artifact.split(":")
    return f"{name}-{version}.jar"


if __name__ == "__main__":
    install_connector(sys.argv[1], Path(sys.argv[2]).absolute())
