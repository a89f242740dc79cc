"""The folder of one server's temporary files, and what killed servers left of theirs.

A server that is killed cannot clean up; the next one that starts in the same place does it. Each folder says in the
file `owner` whose it is, so that servers beside each other leave each other's files alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "delta-gateway-"
_OWNER = "owner"


def make_work_dir(local_dir: str | None) -> Path:
    """A new folder below `local_dir` (None: the system's place for temporary files); removes abandoned ones there."""
    _remove_abandoned(Path(local_dir or tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=local_dir))
    (folder / _OWNER).write_text(str(os.getpid()))
    return folder


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            owner = int((folder / _OWNER).read_text())
        except (OSError, ValueError):
            continue  # being made at this moment, or none of ours
        if not _is_running(owner):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
