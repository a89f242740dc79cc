"""The mutants of a package: what cosmic-ray's operators change, without changes that mean nothing.

Left out are annotations, parameter lists, unions of types outside functions, and exchanges of `==` and `is`, which
differ only for values that Python does not intern. `equivalent.toml` lists single mutants that no test can notice.
"""

from __future__ import annotations

import ast
import hashlib
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.paths import ROOT

_IDENTITY = ("Is_Eq", "Eq_Is", "IsNot_NotEq", "NotEq_IsNot")


@dataclass(frozen=True)
class Mutant:
    """A changed module, and the changed line: its number, beginning with 1, and its text before and after."""

    path: str
    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.path, self.before, self.after

    @property
    def identity(self) -> str:
        """Distinguishes equal changes of equal lines of a module."""
        return hashlib.sha256(f"{self.path}\n{self.source}".encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}\n    - {self.before}\n    + {self.after}"


def sampled(folder: str, size: int, seed: int) -> list[Mutant]:
    """Returns a seeded sample, ordered by place: first one mutant for each place that can change, then others."""
    places: dict[tuple[str, tuple[int, int]], list[tuple[str, int]]] = {}
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / folder).glob("*.py"))}
    for path, source in sources.items():
        for position, operator, occurrence in _changes(source):
            places.setdefault((path, position), []).append((operator, occurrence))
    chance = random.Random(seed)
    rounds: dict[int, list[tuple[str, int, str, int]]] = {}
    for (path, (line, _)), changes in places.items():
        for number, change in enumerate(chance.sample(changes, len(changes))):
            rounds.setdefault(number, []).append((path, line, *change))
    drawn = (change for number in sorted(rounds) for change in chance.sample(rounds[number], len(rounds[number])))
    mutants: dict[tuple[str, str], Mutant] = {}
    for path, line, operator, occurrence in drawn:
        if len(mutants) == size:
            break
        try:
            changed = mutate_code(sources[path], get_operator(operator)(), occurrence)
        except AttributeError:  # cosmic-ray replaces plain names of exceptions only, not `pa.ArrowInvalid`
            continue
        if _is_other_python(changed, sources[path]):
            after = "" if operator.endswith("RemoveDecorator") else changed.splitlines()[line - 1].strip()
            before = sources[path].splitlines()[line - 1].strip()
            mutants.setdefault((path, changed), Mutant(path, line, before, after, changed))
    return sorted(mutants.values(), key=lambda mutant: (mutant.path, mutant.line))


def equivalents() -> dict[tuple[str, str, str], str]:
    """Returns the reasons of the mutants that no test can notice, by path, line before and line after."""
    entries = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text())["equivalent"]
    return {(each["path"], each["before"], after): each["reason"] for each in entries for after in each["after"]}


def _changes(source: str) -> Iterator[tuple[tuple[int, int], str, int]]:
    """Yields the position, operator and occurrence of each change."""
    nodes = list(ast_nodes(get_ast(source)))
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments() or name.endswith(_IDENTITY):
            continue
        operator = operator_class()
        places = [(node, place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, (position, _)) in enumerate(places):
            if not _is_declaration(node):
                yield position, name, occurrence


def _is_declaration(node: Any) -> bool:
    """Returns whether the node is in an annotation or a decorator, separates parameters, or joins types of a module."""
    is_union, in_function = getattr(node, "value", None) == "|", False
    while parent := node.parent:
        match parent.type:
            case "annassign":
                declares = parent.children[1] is node
            case "funcdef":
                declares, in_function = parent.annotation is node, True
            case "param":
                return parent.default is not node
            case kind:
                declares = kind in ("tfpdef", "parameters", "decorator")
        if declares:
            return True
        node = parent
    return is_union and not in_function


def _is_other_python(changed: str, source: str) -> bool:
    """Returns False for a change of nothing, and for what is not Python, as in patterns of `match`."""
    try:
        return ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False
