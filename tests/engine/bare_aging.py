"""Makes the tables of a lake older than they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

DAY_S = 86_400


def age(table: Path, days: float) -> None:
    """Backdates all files of the table by `days`, with the timestamps of removals in its log."""
    for path in table.rglob("*"):
        if path.suffix in (".tmp", ".crc"):  # log cleanup after a commit may still run
            continue
        seconds = os.stat(path).st_mtime - days * DAY_S
        if path.parent.name == "_delta_log" and path.suffix == ".json":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            for line in lines:
                if "remove" in line:
                    line["remove"]["deletionTimestamp"] -= int(days * DAY_S * 1000)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        os.utime(path, (seconds, seconds))


def data_files(table: Path) -> set[str]:
    return {path.relative_to(table).as_posix() for path in table.rglob("*.parquet") if "_delta_log" not in path.parts}
