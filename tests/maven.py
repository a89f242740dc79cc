"""Downloads a jar from Maven: `python -m tests.maven GROUP:ARTIFACT:VERSION[:jar[:CLASSIFIER]] FILE SHA256`.

Maven's own client fetches it, so that mirrors and proxies in a site's `settings.xml` are used.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path


def take_jar(artifact: str, file: Path, sha256: str) -> Path:
    """Returns `file`, which is fetched if it does not exist. Raises `ValueError` for other content than expected."""
    if file.exists():
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        command = ["mvn", "--quiet", "--batch-mode", goal, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        subprocess.run(command, check=True)
        (found,) = Path(folder).iterdir()
        actual = hashlib.sha256(found.read_bytes()).hexdigest()
        if actual != sha256:
            raise ValueError(f"{artifact} has the SHA-256 {actual}, not {sha256}")
        found.replace(file)
    return file


if __name__ == "__main__":
    take_jar(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
