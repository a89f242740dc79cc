"""Writes `catalog/conditions.pyi`, the types for the classes from `conditions.toml`: `make conditions`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from catalog.errors import CONDITIONS_FILE

STUBS = CONDITIONS_FILE.with_suffix(".pyi")
_HEAD = '''"""Written by `make conditions` from conditions.toml: do not edit."""

from catalog.errors import SqlError as SqlError
'''


def stubs() -> str:
    """Returns the stub file's text: the families, then a class per condition with its constructor."""
    resource = tomllib.loads(CONDITIONS_FILE.read_text(encoding="utf-8"))
    families = {name: "\n".join(_family(name, entry)) + "\n" for name, entry in resource.pop("families").items()}
    parts = [_HEAD, *families.values()]
    parts += ["\n".join(_class(condition, entry)) + "\n" for condition, entry in resource.items()]
    return "\n".join(parts)


def _family(name: str, entry: dict[str, str]) -> Iterator[str]:
    yield f"class {name}({entry['family']}):" + ("" if entry["parameters"] else " ...")
    if entry["parameters"]:
        yield from (f"    {parameter}" for parameter in entry["parameters"].split(", "))


def _class(condition: str, entry: dict[str, str]) -> Iterator[str]:
    yield f"class {entry['class']}({entry.get('family', 'SqlError')}):"
    parameters = entry.get("parameters", "")
    yield f'    """{condition}, SQLSTATE {entry["sqlstate"]}"""'
    if not parameters:
        yield "    def __init__(self) -> None: ..."
        return
    names = [each.partition(" = ")[0] for each in parameters.split(", ") if each != "*"]
    yield from (f"    {name}" for name in names)
    one_line = f"    def __init__(self, {parameters}) -> None: ..."
    if len(one_line) <= 120:
        yield one_line
    else:
        yield "    def __init__("
        yield "        self,"
        yield from (f"        {each}," for each in parameters.split(", "))
        yield "    ) -> None: ..."


if __name__ == "__main__":
    STUBS.write_text(stubs(), encoding="utf-8")
