"""Files that a killed server left are found by the names that the product gives them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from engine.storage.put_if_absent import TEMPORARY_SUFFIX
from engine.storage.storage import REMOVED_PREFIX
from tests.chaos.rig import free_ports, is_free, processes_of, temporary_files
from tests.gateway.http.conftest import eventually


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


def test_processes_of_a_folder_are_found_with_their_children_until_they_end(tmp_path: Path) -> None:
    environment = os.environ | {"LOCAL_DIR": f"{tmp_path}/local"}
    command = [sys.executable, "-c", "import subprocess; subprocess.run(['cat'])"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment):
        assert eventually(lambda: len(processes_of(tmp_path)) == 2)
        assert any(process.endswith(" cat") for process in processes_of(tmp_path))
    assert processes_of(tmp_path) == []


def test_ports_are_free_until_something_listens() -> None:
    first, second = free_ports(2)
    assert first != second and is_free(first)
    with socket.create_server(("127.0.0.1", first)):
        assert not is_free(first)
