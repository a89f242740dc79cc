"""The served folder, and errors for an unusable one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catalog.conditions import LakeNotFound
from gateway.cli.serve import with_lake
from gateway.configuration.config import Config, LakeSection


def config(folder: str) -> Config:
    return replace(Config(), lake=LakeSection(folder=folder))


def test_without_a_folder_the_sample_lake_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps: list[str] = []
    for _ in range(2):
        assert with_lake(config(""), steps.append).lake.folder == f"{tmp_path}/sample-lake"
    assert (tmp_path / "sample-lake/shop/orders/_delta_log").is_dir()
    assert len(steps) == 1
    assert "sample lake" in steps[0]


@pytest.mark.parametrize("folder", ["lake", "./lake/", "{root}/lake"])
def test_a_folder_is_served_by_its_absolute_path(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").mkdir()
    assert with_lake(config(folder.format(root=tmp_path)), print).lake.folder == f"{tmp_path}/lake"


def test_a_url_is_taken_as_it_is() -> None:
    assert with_lake(config("s3://bucket/lake"), print).lake.folder == "s3://bucket/lake"


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_a_folder_that_is_none_keeps_the_server_from_starting(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeNotFound, match=f"{tmp_path}/{name}"):
        with_lake(config(str(tmp_path / name)), print)
