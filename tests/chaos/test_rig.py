"""Files that a killed server left are found by the names that the product gives them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from engine.storage.put_if_absent import TEMPORARY_SUFFIX
from engine.storage.storage import REMOVED_PREFIX
from tests.chaos.rig import start_time, temporary_files


def test_temporary_files_and_removed_folders_are_found_and_others_are_not(tmp_path: Path) -> None:
    log, catalog = tmp_path / "default" / "events" / "_delta_log", tmp_path / ".catalog" / "objects"
    for folder in (log, catalog):
        folder.mkdir(parents=True)
    left = [log / f".{0:020}.json.{0:032x}{TEMPORARY_SUFFIX}", catalog / f"a.json.{0:032x}.tmp", catalog / "a.lock"]
    for file in (*left, log / f"{0:020}.json", catalog / "a@1-00000000.json"):
        file.touch()
    removed = tmp_path / "default" / f"{REMOVED_PREFIX}{0:032x}"
    removed.mkdir()
    assert sorted(temporary_files(tmp_path)) == sorted([*left, removed])


def test_process_is_identified_by_its_start_until_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        began = start_time(child.pid)
        assert began == start_time(child.pid) and int(began) >= int(start_time(os.getpid()))
    assert start_time(child.pid) == ""
