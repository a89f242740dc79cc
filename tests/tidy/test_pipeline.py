"""Each stage is called by one function, once, in order, and nowhere else."""

from __future__ import annotations

import ast

from tests.tidy.sources import MODULES, Module

PIPELINE = "engine.pipeline"
# Binds statements that it does not run.
CHECKS = ("engine.statement_checks", "engine.pipeline", "bind_statement")
STAGES = (
    ("engine.statements.parse", "parse"),
    ("engine.pipeline", "bind_statement"),
    ("engine.pipeline", "authorize_statement"),
    ("engine.pipeline", "analyze_statement"),
    ("engine.pipeline", "plan_statement"),
    ("engine.enforcement.enforce", "enforce"),
    ("engine.execution.execute", "execute"),
    ("engine.execution.writes.commit", "commit"),
    ("engine.execution.writes.commit", "follow_up"),
)
# The functions that the first stages call with the statement's spec.
STEPS = (("engine.binding.binder", "bind"), ("engine.authorization.authorize", "authorize"))


def test_only_the_pipeline_knows_the_stages() -> None:
    others = [
        f"{module.path}:{node.lineno} imports {alias.name}"
        for module in MODULES.values()
        if module.name != PIPELINE
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in (*STAGES, *STEPS) and (module.name, node.module, alias.name) != CHECKS
    ]
    assert not others


def test_the_pipeline_calls_each_stage_once_and_in_order() -> None:
    names = [name for _, name in STAGES]
    assert [name for name in calls(MODULES[PIPELINE]) if name in names] == names


def test_the_walk_finds_calls_in_order() -> None:
    module = Module("m", "m.py", "def f():\n    a(1)\n    while b():\n        c(d(2))\n")
    assert calls(module) == ["a", "b", "c", "d"]


def calls(module: Module) -> list[str]:
    found = [
        (node.lineno, node.col_offset, node.func.id)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    return [name for _, _, name in sorted(found)]
