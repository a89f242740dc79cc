"""The jar with the gateway's Java classes, which the package's build compiles (`deploy/build_java.py`).

In a checkout, the sources are next to the jar; the jar contains their digest, so that an outdated jar is noticed. A
wheel has the jar only. The package's build imports this module, so it imports nothing but Python's own modules.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

_JAVA = Path(__file__).resolve().parent / "java"
SOURCES = _JAVA / "src" / "main" / "java"
TEST_SOURCES = _JAVA / "src" / "test" / "java"
JAR = _JAVA / "build" / "gateway.jar"
STAMP = "META-INF/gateway-build.json"


@dataclass(frozen=True, slots=True)
class JarStamp:
    """The inputs of a jar: Spark's version, its sources' digest and javac's options."""

    spark: str
    sources: str
    options: str

    def to_json(self) -> str:
        """Returns the text that is stored with the jar, for comparison."""
        return json.dumps(asdict(self))


def read_stamp(jar: Path) -> JarStamp | None:
    """Returns the stamp of a jar; None if there is no jar, or none of ours."""
    try:
        with zipfile.ZipFile(jar) as archive:
            return JarStamp(**json.loads(archive.read(STAMP)))
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        return None


def java_sources(folder: Path = SOURCES) -> list[Path]:
    """Returns the Java files of a folder in a fixed order; none if it has only a jar."""
    return sorted(folder.rglob("*.java"))


def digest_of_sources(folder: Path = SOURCES) -> str:
    """Returns the SHA-256 digest over the names and contents of the Java files."""
    total = hashlib.sha256()
    for file in java_sources(folder):
        content = file.read_bytes()
        total.update(f"{file.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()
