"""Imports point down, never in a circle, and are at module level."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter

import pytest

from tests.tidy.sources import MODULES, PACKAGES, Module, internal_imports

RANK = {package: rank for rank, package in enumerate(PACKAGES)}  # lowest first

# The engine's packages, lowest first. A package imports itself and the lines above it here; packages on one line are
# independent.
LAYERS = (
    ("engine.errors",),
    ("engine.concurrency", "engine.types"),
    ("engine.spool",),
    ("engine.pruning", "engine.storage"),
    ("engine.tables",),
    ("engine.delta.spec", "engine.iceberg.spec", "engine.sql.dialect"),
    ("engine.delta.log", "engine.delta.schema", "engine.iceberg.manifests", "engine.iceberg.commit", "engine.runtime"),
    ("engine.cache", "engine.delta.checkpoint", "engine.delta.definition", "engine.iceberg.definition"),
    ("engine.iceberg.partitions", "engine.iceberg.writing"),
    ("engine.delta.snapshot", "engine.iceberg.snapshot"),
    ("engine.delta.commit", "engine.iceberg.transaction"),
    ("engine.delta.conversion",),
    ("engine.delta.feed", "engine.delta.maintenance"),
    ("engine.iceberg.maintenance",),
    ("engine.delta", "engine.iceberg", "engine.sample"),
    ("engine.sql.query",),
    ("engine.sql",),
    ("engine.sql.postgres",),
    ("engine.statements",),
    ("engine.binding",),
    ("engine.authorization", "engine.planning.plans"),
    ("engine.enforcement", "engine.spark", "engine.planning.reads"),
    ("engine.planning.semantics",),
    ("engine.planning", "engine.execution.writes"),
    ("engine.execution.writes.dml",),
    ("engine.statements:statement",),
    ("engine.statements:grammar",),
    ("engine.formats", "engine.script", "engine.statements:format_planning"),
    ("engine.statements:binding",),
    ("engine.statements:planning",),
    ("engine.statements:execution",),
    ("engine.formats.delta", "engine.formats.iceberg"),
    ("engine.formats.delta.planning", "engine.formats.iceberg.planning"),
    ("engine.formats.delta.writing", "engine.formats.iceberg.procedures"),
    ("engine.formats.registry", "engine.statements:spec"),
    ("engine.execution",),
    ("engine",),
)

LAYER_RANK = {layer: rank for rank, layers in enumerate(LAYERS) for layer in layers}


TOP_OF_STATEMENTS = ("engine.statements.parse", "engine.statements.registry", "engine.statements.spec")


def layer_of(module: str) -> str:
    """Returns a module's package; in statement families, the stage with which the file's name begins."""
    if module in TOP_OF_STATEMENTS:
        return "engine.statements:spec"
    if module == "engine.statements.format_planning":
        return "engine.statements:format_planning"
    if re.fullmatch(r"engine\.statements\.\w+\.\w+", module):
        stage = module.rpartition(".")[2].partition("_")[0]
        return f"engine.statements:{stage}" if f"engine.statements:{stage}" in LAYER_RANK else "engine.statements:spec"
    if re.fullmatch(r"engine\.statements\.\w+", module) and module != "engine.runtime.statement":
        return "engine.statements"
    return module if module in LAYER_RANK else module.rpartition(".")[0]


def test_a_package_imports_only_itself_and_lower_ones() -> None:
    upward = [
        f"{module.path}:{line} imports {name}"
        for module in MODULES.values()
        for name, line in internal_imports(module)
        if RANK[name.partition(".")[0]] > RANK[module.name.partition(".")[0]]
    ]
    assert not upward


# A package at the lower end of each part, and one at its upper end.
ENDS = {
    "catalog": ("catalog.store", "catalog.discovery"),
    "engine": ("engine.planning", "engine.pipeline"),
    "gateway": ("gateway.sessions", "gateway.http"),
}


def test_layer_imports_only_itself_and_lower_layers() -> None:
    wrong = [
        f"{module.path}:{line} imports {name}"
        for module in MODULES.values()
        if module.name.startswith("engine")
        for name, line in internal_imports(module)
        if name.startswith("engine.")
        and layer_of(name) != layer_of(module.name)
        and LAYER_RANK[layer_of(name)] >= LAYER_RANK[layer_of(module.name)]
    ]
    assert not wrong


@pytest.mark.parametrize("top", ["catalog", "engine", "gateway"])
def test_imports_between_packages_have_no_cycle(top: str) -> None:
    """`engine.planning` and `engine.execution`, say: a family's stages are in several layers, but in one package.

    Modules directly in `catalog` and `gateway` compose the packages, or are values that these share.
    """
    packages = {".".join(name.split(".")[:2]) for name in MODULES if name.count(".") > (top != "engine")}
    imported: dict[str, set[str]] = {}
    for module in MODULES.values():
        package = ".".join(module.name.split(".")[:2])
        if not module.name.startswith(f"{top}.") or package not in packages:
            continue
        others = {".".join(name.split(".")[:2]) for name, _ in internal_imports(module)}
        imported.setdefault(package, set()).update((others & packages) - {package, top})
    order = tuple(TopologicalSorter(imported).static_order())  # raises CycleError, which names the packages
    lowest, highest = ENDS[top]
    assert order.index(lowest) < order.index(highest)


def test_every_engine_package_has_a_rank() -> None:
    assert {layer_of(name) for name in MODULES if name.startswith("engine")} == set(LAYER_RANK)


LIBRARIES = ("engine.delta", "engine.iceberg")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_of_a_format_stands_on_its_own(library: str) -> None:
    """`engine/delta` and `engine/iceberg` are usable without SQL, Spark and the catalog.

    They share the errors' root, and the detection of Delta tables in folders.
    """
    allowed = (
        library,
        "engine.cache",
        "engine.errors",
        "engine.types",
        "engine.concurrency",
        "engine.pruning",
        "engine.storage",
        "engine.tables",
        "catalog.conditions",
        "catalog.errors",
        "catalog.store.files",
    )
    others = [
        f"{module.path}:{line} imports {name}"
        for module in MODULES.values()
        if is_in(module.name, (library,))
        for name, line in internal_imports(module)
        if name not in ("engine", "catalog") and not name.startswith(allowed)
    ]
    assert not others


# Delta's own packages, the assembly of a server's formats, and the sample lake.
KNOW_DELTA = ("engine.delta", "engine.formats.delta", "engine.formats.registry", "engine.main", "engine.sample")


def test_only_delta_package_uses_delta() -> None:
    assert not [place for module in MODULES.values() for place in delta_imports(module)]


def test_the_search_for_deltas_importers_finds_one() -> None:
    text = "from engine.delta.spec.paths import LOG_DIR\n"
    assert delta_imports(Module("engine.binding.binder", "engine/binding/binder.py", text))
    assert not delta_imports(Module("engine.main", "engine/main.py", text))


def delta_imports(module: Module) -> list[str]:
    """Returns a module's forbidden imports."""
    if is_in(module.name, KNOW_DELTA):
        return []
    return [
        f"{module.path}:{line} imports {name}"
        for name, line in internal_imports(module)
        if is_in(name, ("engine.delta",))
    ]


def is_in(module: str, layers: tuple[str, ...]) -> bool:
    return any(module == layer or module.startswith(f"{layer}.") for layer in layers)


def test_imports_stand_at_the_top_level() -> None:
    """One inside a function hides a dependency, most often a circle."""
    hidden = [
        f"{module.path}:{node.lineno}"
        for module in MODULES.values()
        for scope in ast.walk(module.tree)
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(scope)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not hidden


def test_no_import_cycles() -> None:
    edges = {name: {imported for imported, _ in internal_imports(module)} for name, module in MODULES.items()}
    assert find_cycle(edges) is None


def test_the_search_for_cycles_finds_one() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


def find_cycle(edges: dict[str, set[str]]) -> list[str] | None:
    """Returns an import cycle, with its first module repeated at the end."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str] | None:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        for following in sorted(edges[name]):
            if cycle := visit(following, [*path, name]):
                return cycle
        done.add(name)
        return None

    for name in sorted(edges):
        if cycle := visit(name, []):
            return cycle
    return None
