"""`nbytes` on Arrow values crashes the process for lists without offsets, so one module reads it."""

from __future__ import annotations

import ast

from tests.tidy.sources import MODULES, Module

ALLOWED = "engine.types.value_bytes"


def readings(module: Module) -> list[str]:
    """Returns places that read an attribute `nbytes`; for a NumPy array it is written `size * itemsize`."""
    names = [node for node in ast.walk(module.tree) if isinstance(node, ast.Attribute) and node.attr == "nbytes"]
    texts = [node for node in ast.walk(module.tree) if isinstance(node, ast.Constant) and node.value == "nbytes"]
    return [f"{module.path}:{node.lineno}" for node in (*names, *texts)]


def test_nbytes_is_read_in_one_module_only() -> None:
    assert not [place for module in MODULES.values() if module.name != ALLOWED for place in readings(module)]
    assert readings(MODULES[ALLOWED])


def test_the_search_finds_each_form() -> None:
    text = "size = batch.nbytes\nsizes = [table.column(0).nbytes]\nread = getattr(batch, 'nbytes')\ncount = rows.size"
    assert readings(Module("gateway.sizes", "gateway/sizes.py", text)) == [f"gateway/sizes.py:{n}" for n in (1, 2, 3)]
