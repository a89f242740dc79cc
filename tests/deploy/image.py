"""Runs the steps of `deploy/Dockerfile` without Docker: in Debian roots made by debootstrap, by chroot.

Understands the instructions that the file has; another one is an error, so that no step is left out. The base image is
replaced by Debian's own Python of the same version.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.paths import ROOT

_BASE = {"python:3.11-slim-bookworm": ("bookworm", "python3,python3-pip,python3-venv,ca-certificates")}
_NOT_IN_SLIM = ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt/archives", "var/lib/apt/lists")
_WITHOUT_EFFECT = frozenset({"ARG", "LABEL", "EXPOSE", "VOLUME", "STOPSIGNAL"})  # an ARG is empty here
# The addresses and certificates of this machine; Docker, too, sets the first two.
_OF_MACHINE = ("/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt")
_MOUNT = re.compile(r"--mount=type=bind,from=(\w+),source=(\S+),target=(\S+) (.*)", re.DOTALL)


@dataclass
class Image:
    """The stages of a Dockerfile below `folder`, and how a container of the last one starts."""

    folder: Path
    stages: list[Path] = field(default_factory=list)
    names: dict[str, Path] = field(default_factory=dict)
    directory: str = "/"
    user: str = "0:0"
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.stages[-1]

    def build(self, dockerfile: Path) -> None:
        for instruction, rest in instructions(dockerfile.read_text(encoding="utf-8")):
            match instruction:
                case "FROM":
                    self._begin_stage(*rest.split())
                case "WORKDIR":
                    self.directory = rest
                    (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(*rest.split())
                case "RUN":
                    self._run(rest)
                case "ENV":
                    self.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
                case "USER":
                    self.user = rest
                case "ENTRYPOINT":
                    self.entrypoint = json.loads(rest)
                case "CMD":
                    self.command = json.loads(rest)
                case "HEALTHCHECK":
                    self.health = json.loads(rest.partition("CMD ")[2])
                case _:  # the text of a file
                    assert instruction in _WITHOUT_EFFECT, f"{instruction} is not understood"

    def arguments(self, command: list[str], environment: dict[str, str]) -> list[str]:
        """Returns a command that runs `command` in a container of the last stage."""
        variables = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.directory, **self.environment}
        pairs = [f"{name}={value}" for name, value in (variables | environment).items()]
        inside = f"cd {self.directory} && exec {shlex.join(['env', '-i', *pairs, *command])}"
        return ["chroot", f"--userspec={self.user}", str(self.root), "sh", "-c", inside]

    def remove(self) -> None:
        """Removes the stages; nothing of another file system, if one is still mounted."""
        for stage in self.stages:
            if os.path.ismount(stage / "proc"):
                subprocess.run(["umount", "--lazy", str(stage / "proc")], check=True)
        subprocess.run(["rm", "-rf", "--one-file-system", str(self.folder)], check=True)

    def _begin_stage(self, base: str, _: str = "AS", name: str = "") -> None:
        self.directory, self.user, self.environment = "/", "0:0", {}
        origin = self.folder / "base"
        if not origin.exists():
            suite, packages = _BASE[base]
            arguments = ["--variant=minbase", f"--include={packages}", suite, str(origin)]
            subprocess.run(["debootstrap", *arguments], check=True, stdin=subprocess.DEVNULL)
            (origin / "usr/local/bin/python").symlink_to("/usr/bin/python3")
            _slim(origin)
            for file in _OF_MACHINE:
                shutil.copyfile(file, origin / file.lstrip("/"))
        root = self.folder / f"stage{len(self.stages)}"
        subprocess.run(["cp", "-a", str(origin), str(root)], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
        self.stages.append(root)
        if name:
            self.names[name] = root

    def _run(self, step: str) -> None:
        mounted = _MOUNT.fullmatch(step)
        if mounted is None:
            return self._run_here(step)
        stage, source, target, command = mounted.groups()
        with _bound(self.names[stage] / source.lstrip("/"), self.root / target.lstrip("/")):
            self._run_here(command)

    def _run_here(self, command: str) -> None:
        of_base = {"PIP_BREAK_SYSTEM_PACKAGES": "1"}  # Debian's pip installs into the system only with it
        of_machine = {"NODE_EXTRA_CA_CERTS": _OF_MACHINE[-1], "PIP_CERT": _OF_MACHINE[-1]}
        arguments = self.arguments(["sh", "-c", command], of_base | of_machine)
        subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL)

    def _copy(self, *names: str) -> None:
        """Copies files of the context, without those that .dockerignore leaves out."""
        *sources, target = names
        for source in sources:
            to = self.root / self.directory.lstrip("/") / target
            path = ROOT / source
            if path.is_dir():
                shutil.copytree(path, to, ignore=_ignored)
            else:
                to.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)


def _ignored(folder: str, names: list[str]) -> set[str]:
    left_out = {"__pycache__", "node_modules", "dist"}
    if Path(folder).name in ("console", "java"):
        left_out.add("build")
    return left_out.intersection(names)


def _slim(root: Path) -> None:
    """Removes what the slim base image does not have either, and keeps later packages from bringing it."""
    for folder in _NOT_IN_SLIM:
        shutil.rmtree(root / folder)
        (root / folder).mkdir()
    for section in range(1, 10):  # alternatives of packages link to them
        (root / "usr/share/man" / f"man{section}").mkdir()
    rules = "".join(f"path-exclude /{folder}/*\n" for folder in _NOT_IN_SLIM if folder.startswith("usr/"))
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(rules)


@contextmanager
def _bound(source: Path, target: Path) -> Iterator[None]:
    target.mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(source), str(target)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(target)], check=True)
        target.rmdir()


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yields the instructions, each as one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        if line.strip():
            instruction, _, rest = line.strip().partition(" ")
            yield instruction, rest.strip()
