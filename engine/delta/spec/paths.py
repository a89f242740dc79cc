"""File names in `_delta_log`. For data file paths see `engine.storage.paths`.

Log files begin with their version as 20 digits, so that sorting by name sorts by version::

    00000000000000000010.json                                      commit
    00000000000000000010.checkpoint.parquet                        classic checkpoint (its body may be v2)
    00000000000000000010.checkpoint.0000000001.0000000003.parquet  part 1 of 3
    00000000000000000010.checkpoint.<uuid>.json|parquet            v2 checkpoint, with files under _sidecars/
    00000000000000000004.00000000000000000009.compacted.json       log compaction of [4, 9]
    00000000000000000010.crc                                       version checksum
    _last_checkpoint                                               hint
    _staged_commits/00000000000000000010.<uuid>.json               staged commit

All other files are foreign (editors, Hadoop's `.*.crc`) and are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

LOG_DIR = "_delta_log"
SIDECAR_DIR = "_sidecars"
STAGED_COMMIT_DIR = "_staged_commits"
LAST_CHECKPOINT = "_last_checkpoint"

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_NAME = re.compile(
    r"(?P<version>[0-9]{20})\."
    r"(?:(?P<commit>json)"
    r"|(?P<checksum>crc)"
    r"|(?P<to>[0-9]{20})\.compacted\.json"
    r"|checkpoint\.(?:(?P<classic>parquet)"
    r"|(?P<part>[0-9]{10})\.(?P<parts>[0-9]{10})\.parquet"
    rf"|(?P<uuid>{_UUID})\.(?P<body>json|parquet)))"
)
_VERSION_MAX = 2**63 - 1


class LogFileKind(Enum):
    COMMIT = "commit"
    CHECKSUM = "checksum"
    COMPACTION = "log compaction"
    CHECKPOINT_CLASSIC = "classic checkpoint"
    CHECKPOINT_PART = "part of a checkpoint"
    CHECKPOINT_V2 = "v2 checkpoint"


@dataclass(frozen=True, slots=True)
class LogPath:
    """A log file's parsed name."""

    name: str
    kind: LogFileKind
    # For a log compaction: its first version.
    version: int
    # The last version covered; differs from `version` only for a log compaction.
    version_to: int
    part: int = 1
    parts: int = 1

    @property
    def is_checkpoint(self) -> bool:
        """Returns True for each kind of checkpoint: classic, multi-part and UUID-named."""
        return self.kind in _CHECKPOINTS

    @property
    def is_json(self) -> bool:
        """Returns True for a JSON file; a UUID-named checkpoint is JSON or Parquet."""
        return self.name.endswith(".json")


_CHECKPOINTS = {LogFileKind.CHECKPOINT_CLASSIC, LogFileKind.CHECKPOINT_PART, LogFileKind.CHECKPOINT_V2}


def parse_log_path(name: str) -> LogPath | None:
    """Parses a file name in `_delta_log`. Returns None if the file does not belong to the log."""
    # The name must match as a whole: `00…10.json.tmp` or an editor's copy is no commit.
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    group = match.groupdict()
    version = int(group["version"])
    if version > _VERSION_MAX:
        return None
    if group["commit"]:
        return LogPath(name, LogFileKind.COMMIT, version, version)
    if group["checksum"]:
        return LogPath(name, LogFileKind.CHECKSUM, version, version)
    if group["to"]:
        to = int(group["to"])
        # "Log Compaction Files": the range has at least two versions. One with a single
        # version would hide its commit's commitInfo for nothing.
        return LogPath(name, LogFileKind.COMPACTION, version, to) if version < to <= _VERSION_MAX else None
    if group["classic"]:
        return LogPath(name, LogFileKind.CHECKPOINT_CLASSIC, version, version)
    if group["uuid"]:
        return LogPath(name, LogFileKind.CHECKPOINT_V2, version, version)
    part, parts = int(group["part"]), int(group["parts"])
    if not 1 <= part <= parts:
        return None
    return LogPath(name, LogFileKind.CHECKPOINT_PART, version, version, part, parts)


def version_prefix(version: int) -> str:
    """Returns the 20 digits with which all files for this version begin; a listing can start there."""
    return f"{version:020d}"


def commit_name(version: int) -> str:
    """Returns the name of a version's commit file: 20 digits, `.json`."""
    return f"{version:020d}.json"


def checksum_name(version: int) -> str:
    """Returns the name of a version's checksum file: 20 digits, `.crc`."""
    return f"{version:020d}.crc"


def checkpoint_name(version: int) -> str:
    """Returns the name of a version's classic checkpoint in a single file."""
    return f"{version:020d}.checkpoint.parquet"


def checkpoint_part_name(version: int, part: int, parts: int) -> str:
    """Returns a multi-part checkpoint's file name; `part` counts from 1."""
    return f"{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def checkpoint_v2_name(version: int, uuid: str, extension: str) -> str:
    """Returns a v2 checkpoint's file name; `extension` is `json` or `parquet`."""
    return f"{version:020d}.checkpoint.{uuid}.{extension}"


def compaction_name(version: int, version_to: int) -> str:
    """Returns the name of the log compaction for the versions from `version` to `version_to`, inclusive."""
    return f"{version:020d}.{version_to:020d}.compacted.json"


def sidecar_name(uuid: str) -> str:
    """Returns a sidecar's name, relative to `_delta_log/_sidecars`."""
    return f"{uuid}.parquet"
