"""Assignment of tests to `make test`'s processes: a file's tests run in one, and all client tests in one.

A file's tests share a lake, client tests share a server. pytest-xdist has `--dist loadgroup` for that, but version 3.8
writes the group into an attribute that pytest 9.2 no longer reads, and so spreads single tests: each process then
creates the shared objects itself. Hence a custom scheduler, which needs no mark.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from xdist.scheduler import LoadScopeScheduling

_CLIENTS = "tests/clients/"


class FileScheduling(LoadScopeScheduling):
    """Work units are files, and the clients' folder."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


class UnitsSeen:
    """The processes in which each unit's tests ran."""

    def __init__(self) -> None:
        self._processes: dict[str, set[str]] = defaultdict(set)

    def add(self, report: Any) -> None:
        """A test has run."""
        if hasattr(report, "node"):
            self._processes[unit_of(report.nodeid)].add(report.node.gateway.id)

    def spread(self) -> list[str]:
        """Returns the units whose tests ran in more than one process."""
        return sorted(unit for unit, processes in self._processes.items() if len(processes) > 1)


def unit_of(nodeid: str) -> str:
    return _CLIENTS if nodeid.startswith(_CLIENTS) else nodeid.partition("::")[0]
