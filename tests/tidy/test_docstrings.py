"""Public functions have docstrings; an override, and an implementation of an interface, has the declaration's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import dedent

from tests.paths import ROOT
from tests.tidy.sources import MODULES, Module, load_modules

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Class:
    """A class of the repository; `module` is the dotted name of its module."""

    module: str
    node: ast.ClassDef

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        """Returns the methods that the class defines; of a property, the getter."""
        return {node.name: node for node in reversed(self.node.body) if isinstance(node, Function)}

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Returns the names that the class, or a method for `self`, assigns."""
        targets: list[ast.expr] = []
        for node in ast.walk(self.node):
            if isinstance(node, ast.Assign):
                targets += node.targets
            elif isinstance(node, ast.AnnAssign):
                targets.append(node.target)
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        return frozenset(names | {target.attr for target in targets if isinstance(target, ast.Attribute)})

    @property
    def is_interface(self) -> bool:
        """Returns True for a `typing.Protocol`."""
        return any(_without_arguments(base) in ("Protocol", "typing.Protocol") for base in self.node.bases)


class Classes:
    """All classes by their dotted names, with their bases and the interfaces that they implement."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._names = {name: _names_in(module) for name, module in modules.items()}
        self.by_name = {
            f"{name}.{node.name}": Class(name, node)
            for name, module in modules.items()
            for node in module.tree.body
            if isinstance(node, ast.ClassDef)
        }
        self._bases = {name: tuple(dict.fromkeys(self._find_bases(name))) for name in self.by_name}
        self._members = {name: self._find_members(name) for name in self.by_name}
        self._interfaces = [name for name, found in self.by_name.items() if found.is_interface]

    def is_documented(self, name: str, method: str) -> bool:
        """Returns True if a base class, or an interface that the class `name` implements, documents the method."""
        declaring = {*self._bases[name]}
        for interface in self._interfaces:
            if method in self._members[interface] and self._implements(name, interface):
                declaring |= {interface, *self._bases[interface]}
        found = (self.by_name[each].functions.get(method) for each in declaring)
        return any(node is not None and ast.get_docstring(node) for node in found)

    def _find_bases(self, name: str) -> Iterator[str]:
        """Yields the base classes in the repository, transitively."""
        found = self.by_name[name]
        for base in found.node.bases:
            base_name = self._resolve(found.module, _without_arguments(base))
            if base_name in self.by_name:
                yield base_name
                yield from self._find_bases(base_name)

    def _resolve(self, module: str, written: str) -> str:
        """Returns the dotted name that `written` has in `module`, through packages that export it again."""
        first, dot, rest = written.partition(".")
        name = f"{self._names[module].get(first, first)}{dot}{rest}"
        owner, _, last = name.rpartition(".")
        if name in self.by_name or last not in self._names.get(owner, ()):
            return name
        return self._resolve(owner, last)

    def _implements(self, name: str, interface: str) -> bool:
        """Returns True if the class has all members of the interface, with their arguments.

        If a single method is all that the interface has, its types have to be equal too: many classes have a `close`.
        """
        if self.by_name[name].is_interface:
            return False
        wanted, members = self._members[interface], self._members[name]
        if not (wanted.keys() | self._attributes(interface)) <= (members.keys() | self._attributes(name)):
            return False
        pairs = [(node, members[method]) for method, node in wanted.items() if method in members]
        if len(wanted) == 1:
            return all(_signature(one) == _signature(other) for one, other in pairs)
        return all(_arguments(one) == _arguments(other)[: len(_arguments(one))] for one, other in pairs)

    def _attributes(self, name: str) -> set[str]:
        return {attribute for each in (name, *self._bases[name]) for attribute in self.by_name[each].attributes}

    def _find_members(self, name: str) -> dict[str, Function]:
        members: dict[str, Function] = {}
        for each in (name, *self._bases[name]):
            members = {**self.by_name[each].functions, **members}
        return members


def undocumented(modules: Mapping[str, Module]) -> Iterator[str]:
    """Yields public functions and methods without a docstring of their own or of their declaration."""
    classes = Classes(modules)
    for name, module in modules.items():
        for node in module.tree.body:
            if isinstance(node, Function) and _lacks_docstring(node):
                yield f"{module.path}:{node.lineno} {node.name}"
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                for method in node.body:
                    if isinstance(method, Function) and _lacks_docstring(method):
                        if not classes.is_documented(f"{name}.{node.name}", method.name):
                            yield f"{module.path}:{method.lineno} {node.name}.{method.name}"


def test_public_functions_have_docstrings() -> None:
    modules = MODULES | load_modules(ROOT, ("deploy",))
    assert list(undocumented(modules)) == []


def test_docstrings_of_public_functions_begin_with_a_verb() -> None:
    openings = [
        f"{module.path}:{node.lineno} {text}"
        for module in (MODULES | load_modules(ROOT, ("deploy",))).values()
        for node in ast.walk(module.tree)
        if isinstance(node, Function) and not node.name.startswith("_") and (text := ast.get_docstring(node))
    ]
    # "See" refers to the declaration, in an override that adds something to it.
    assert [each for each in openings if not re.match(r"\S+ (See|[A-Z][a-z]*s)\b", each)] == []


def test_override_of_a_documented_method_passes_and_other_methods_of_its_name_do_not() -> None:
    found = undocumented(
        {
            "a.base": _module(
                "a.base",
                """
                class Base:
                    def run(self) -> None:
                        '''Runs.'''
                    def stop(self) -> None: ...
                """,
            ),
            "a": _module("a", "from a.base import Base"),
            "b": _module(
                "b",
                """
                import a
                from a import Base as Runner
                class Middle(Runner): ...
                class Derived(Middle):
                    def run(self) -> None: ...
                    def stop(self) -> None: ...
                class Generic(a.Base[int]):
                    def run(self) -> None: ...
                class Own:
                    @property
                    def size(self) -> int:
                        '''Returns the size.'''
                    @size.setter
                    def size(self, value: int) -> None: ...
                class Sized(Own):
                    @property
                    def size(self) -> int: ...
                class Unrelated:
                    def run(self) -> None: ...
                class _Private:
                    def run(self) -> None: ...
                """,
            ),
        }
    )
    assert [each.split(" ")[1] for each in found] == ["Base.stop", "Derived.stop", "Unrelated.run"]


def test_implementation_of_a_documented_interface_passes_if_it_has_all_members() -> None:
    found = undocumented(
        {
            "a": _module(
                "a",
                """
                class Source(Protocol):
                    size: int
                    @property
                    def name(self) -> str:
                        '''Returns the name.'''
                    def read(self, count: int) -> bytes:
                        '''Reads.'''
                class Closable(Protocol):
                    def close(self, reason: str) -> None:
                        '''Closes.'''
                class File:
                    name: str
                    def __init__(self) -> None:
                        self.size = 0
                    def read(self, count: int, *, exactly: bool = False) -> bytes: ...
                    def close(self, reason: str) -> None: ...
                class Lines:
                    def read(self, count: int) -> bytes: ...
                class Unsized:
                    name: str
                    def read(self, count: int) -> bytes: ...
                class Stream:
                    name: str
                    size: int
                    def read(self, length: int) -> bytes: ...
                    def close(self, reason: int) -> None: ...
                """,
            )
        }
    )
    assert [each.split(" ")[1] for each in found] == ["Lines.read", "Unsized.read", "Stream.read", "Stream.close"]


def _lacks_docstring(node: Function) -> bool:
    if node.name.startswith("_") or ast.get_docstring(node):
        return False
    return not any(ast.unparse(each).endswith((".setter", "overload")) for each in node.decorator_list)


def _names_in(module: Module) -> dict[str, str]:
    """Returns the dotted names of a module's classes, and of the names that it imports at its top or for types only."""
    names = {node.name: f"{module.name}.{node.name}" for node in module.tree.body if isinstance(node, ast.ClassDef)}
    for node in _statements(module.tree.body):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
    return names


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If):  # TYPE_CHECKING
            yield from _statements(node.body)


def _without_arguments(base: ast.expr) -> str:
    return ast.unparse(base.value if isinstance(base, ast.Subscript) else base)


def _arguments(node: Function) -> list[str]:
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _signature(node: Function) -> str:
    return f"{ast.unparse(node.args)} -> {ast.unparse(node.returns) if node.returns is not None else ''}"


def _module(name: str, text: str) -> Module:
    return Module(name, f"{name}.py", dedent(text))
