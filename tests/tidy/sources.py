"""The three packages' sources as syntax trees, for tests of coding rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.paths import ROOT

PACKAGES = ("catalog", "engine", "gateway")
GENERATED = "gateway/hs2/gen"


@dataclass(frozen=True)
class Module:
    """One file; `name` is dotted, `path` relative to the checkout."""

    name: str
    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @cached_property
    def imports(self) -> tuple[tuple[str, int], ...]:
        """Returns imported modules with their lines, anywhere in the file; `from a import b` gives `a.b`."""
        return tuple(self._imports())

    def _imports(self) -> Iterator[tuple[str, int]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                yield from ((f"{base}.{alias.name}" if base else alias.name, node.lineno) for alias in node.names)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        remaining = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
        return ".".join([*remaining, *((node.module or "").split(".") if node.module else [])])


def load_modules(root: Path = ROOT, packages: Sequence[str] = PACKAGES) -> dict[str, Module]:
    """Returns the modules of `packages` by dotted name, without generated ones."""
    found = {}
    for package in packages:
        for file in sorted((root / package).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            if path.startswith(GENERATED):
                continue
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found[name] = Module(name, path, file.read_text(encoding="utf-8"))
    return found


MODULES = load_modules()


def internal_imports(module: Module) -> Iterator[tuple[str, int]]:
    """Yields our own modules that `module` imports, as in :data:`MODULES`."""
    for imported, line in module.imports:
        for name in (imported, imported.rpartition(".")[0]):
            if name in MODULES:
                yield name, line
                break
