"""What killed servers left in the folder of the catalog's files, removed when a server starts.

Two kinds of files are unused: temporary ones, which were to get another name, and files of objects that no kept
generation names, because their writer ended before it created its generation. Another server may be about to give them
a name at this moment, so only old ones go. Only folders of this machine have such files that can be told by their age.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress

_TEMPORARY = re.compile(r".+\.json\.[0-9a-f]{32}\.tmp")
_OBJECT = re.compile(r".+@\d+-[0-9a-f]{8}\.json")


def remove_catalog_leftovers(folder: str, older_than_s: float) -> int:
    """How many files were removed; `older_than_s` is a time as `time.time()` tells it."""
    count = 0
    for path in _leftovers(folder):
        with suppress(OSError):
            if os.stat(path).st_mtime < older_than_s:
                os.unlink(path)
                count += 1
    return count


def _leftovers(folder: str) -> Iterator[str]:
    files = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    yield from (path for path in files if _TEMPORARY.fullmatch(os.path.basename(path)))
    objects = [path for path in files if _OBJECT.fullmatch(os.path.basename(path))]
    # Read after the objects were listed: what is named since is in the newest generation.
    named = _named_objects(folder)
    if named is not None:
        yield from (path for path in objects if os.path.relpath(path, f"{folder}/objects") not in named)


def _named_objects(folder: str) -> set[str] | None:
    """The files that some generation names; None where one of them cannot be read, so that nothing is sure."""
    named: set[str] = set()
    try:
        for entry in os.scandir(f"{folder}/generations"):
            if entry.name.endswith(".json"):
                with open(entry.path, "rb") as file:
                    named |= {f"{name}@{stamp}.json" for name, stamp in json.load(file)["objects"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return named
