"""Sizes of the server's processes from outside, as `/proc` and the JVM's own tools report them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.server_process import ServerProcess

_JCMD_S = 120
_NUMBER = re.compile(r"\d+")
# Names in the results file, and the unit of each.
SIZES = {
    "java live heap": "KiB",
    "java metaspace": "KiB",
    "java classes": "",
    "java threads": "",
    "java files": "",
    "python private memory": "KiB",
    "python threads": "",
    "python files": "",
    "sockets": "",
}


def measured(process: ServerProcess) -> dict[str, int]:
    """Returns :data:`SIZES`. A full garbage collection runs first, so the live heap has reachable objects alone."""
    python, (java, *_) = process.server_pid, process.jvms()
    heap = _jcmd(java, "GC.heap_info")
    metaspace = next(line for line in heap.splitlines() if "Metaspace" in line)
    # Total = <loaders> <classes> <bytes> …
    loaders = next(line for line in _jcmd(java, "VM.classloader_stats").splitlines() if line.startswith("Total ="))
    return {
        "java live heap": live_heap(java),
        "java metaspace": int(_NUMBER.findall(metaspace)[0]),
        "java classes": int(_NUMBER.findall(loaders)[1]),
        "java threads": _threads(java),
        "java files": len(_files(java)),
        "python private memory": _private_kib(python),
        "python threads": _threads(python),
        "python files": len(_files(python)),
        "sockets": sum(target.startswith("socket:") for pid in (python, java) for target in _files(pid)),
    }


def live_heap(java: int) -> int:
    """Returns the size of the reachable objects in KiB, after a full garbage collection."""
    total = _jcmd(java, "GC.class_histogram").strip().splitlines()[-1]  # Total <objects> <bytes>
    return int(total.split()[2]) >> 10


def changes(begin: Mapping[str, int], end: Mapping[str, int]) -> str:
    """Returns each size at the beginning and at the end, with the change in percent."""
    return ", ".join(
        f"{name} {begin[name]}→{end[name]}{f' {unit}' if unit else ''} ({100 * (end[name] / begin[name] - 1):+.1f} %)"
        for name, unit in SIZES.items()
    )


def _jcmd(pid: int, command: str) -> str:
    done = subprocess.run(["jcmd", str(pid), command], capture_output=True, text=True, timeout=_JCMD_S, check=True)
    return done.stdout


def _threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def _files(pid: int) -> list[str]:
    found = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            found.append(os.readlink(file))
    return found


def _private_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty:", "Private_Clean:")))
