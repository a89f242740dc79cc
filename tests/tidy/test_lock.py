"""`requirements.lock` pins every dependency to a version that `pyproject.toml` accepts."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKED = {
    canonicalize_name(name): version
    for name, version in re.findall(
        r"^([\w.-]+)(?:\[.*\])?==([^\s;]+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE
    )
}
BUILD_REQUIRES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
DECLARED = [*PROJECT["dependencies"], *(each for extra in PROJECT["optional-dependencies"].values() for each in extra)]


@pytest.mark.parametrize("text", sorted(set(DECLARED)))
def test_dependency_is_locked_to_an_accepted_version(text: str) -> None:
    declared = Requirement(text)
    if declared.name == PROJECT["name"]:
        assert set(declared.extras) <= PROJECT["optional-dependencies"].keys()
    else:
        assert LOCKED[canonicalize_name(declared.name)] in declared.specifier


def test_java_classes_are_compiled_against_the_pyspark_that_runs_them() -> None:
    (pinned,) = [each for each in PROJECT["dependencies"] if Requirement(each).name == "pyspark"]
    assert str(Requirement(pinned).specifier).startswith("==")
    assert pinned in BUILD_REQUIRES
