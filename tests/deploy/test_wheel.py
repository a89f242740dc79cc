"""The wheel: it has the Java classes as one jar."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.spark.class_files import find_class_files
from tests.paths import ROOT


@pytest.mark.slow
def test_wheel_has_one_jar_of_the_current_sources_and_no_sources(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(tmp_path), str(ROOT)], check=True, timeout=280)
    (wheel,) = tmp_path.glob("delta_gateway-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith((".jar", ".java", ".class"))]
        assert names == ["engine/spark/java/build/gateway.jar"]
        jar = archive.extract(names[0], tmp_path)
    assert find_class_files(Path(jar)).jar == Path(jar)
