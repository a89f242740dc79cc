"""A PostgreSQL of the version whose answers are recorded, as Debian installs it."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

_BINARIES = Path("/usr/lib/postgresql/15/bin")
# The folder of its programs; None if it is not installed.
POSTGRES = _BINARIES if (_BINARIES / "initdb").exists() else None


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server, whose superuser is admin; nobody needs a password."""

    port: int

    def connect(self, database: str, user: str) -> psycopg.Connection[Any]:
        """Opens a connection whose time zone is UTC."""
        where = f"host=127.0.0.1 port={self.port} dbname={database} user={user}"
        return psycopg.connect(where, autocommit=True, options="-c TimeZone=UTC")


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Runs a server with empty databases; PostgreSQL does not run as root, so root runs it as another user."""
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chown(folder, user.pw_uid, user.pw_gid)
        port = _free_port()
        data = f"{folder}/data"
        options = f"-c unix_socket_directories={folder} -c port={port} -c listen_addresses=127.0.0.1 -c fsync=off"
        control = [f"{_BINARIES}/pg_ctl", "-D", data, "-w", "-l", f"{folder}/log"]
        initdb = [f"{_BINARIES}/initdb", "-D", data, "-U", "admin", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8"]
        _run(initdb, folder, user)
        _run([*control, "-o", options, "start"], folder, user)
        try:
            yield PostgresServer(port)
        finally:
            _run([*control, "-m", "fast", "stop"], folder, user)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _run(command: list[str], folder: str, user: pwd.struct_passwd) -> None:
    # pg_ctl's server inherits the output, so a pipe would never end.
    with open(f"{folder}/output", "ab") as output:
        if os.getuid() == 0:
            subprocess.run(
                command, check=True, stdout=output, stderr=output, cwd=folder, user=user.pw_uid, group=user.pw_gid
            )
        else:
            subprocess.run(command, check=True, stdout=output, stderr=output, cwd=folder)
