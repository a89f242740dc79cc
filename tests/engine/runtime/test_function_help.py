"""Spark's documentation of functions as signatures, texts and examples."""

from __future__ import annotations

import json

from engine.runtime.function_help import EXAMPLES_MAX, FunctionHelp, read_sql_help

OWN = FunctionHelp(name_parts=("own",), type="table", usage=("own()",))


def read(**info: object) -> FunctionHelp:
    """Returns the help for a function `f` with these fields of Java's answer."""
    empty = dict.fromkeys(("usage", "arguments", "examples", "note", "group", "since", "deprecated"), "")
    answer = {"functions": [empty | {"name": "f", "is_table": False} | info], "keywords": []}
    (found,) = read_sql_help(json.dumps(answer), {"f", "+"}, {"f"}, ()).functions
    return found


def test_signatures_and_texts_are_apart() -> None:
    found = read(
        usage="""
    _FUNC_(array, index) - Returns an element - or NULL. See
      more.

    _FUNC_(map, key) - Returns a value.
  """,
        arguments="""
    Arguments:
      * array - The array.<br>
          Not NULL.
  """,
        examples="\n    Examples:\n      > SELECT _FUNC_(array(1), 1);\n       1\n      > SELECT 2;\n       2\n  ",
        note="\n    Use another.\n  ",
        group="collection_funcs",
        since="2.4.0",
    )
    assert found == FunctionHelp(
        name_parts=("f",),
        type="scalar",
        usage=("f(array, index)", "f(map, key)"),
        description="Returns an element - or NULL. See more.\nReturns a value.",
        arguments="* array - The array.\n    Not NULL.",
        examples=("SELECT f(array(1), 1);", "SELECT 2;"),
        note="Use another.",
        group="collection_funcs",
        since="2.4.0",
    )


def test_type_is_that_of_the_group() -> None:
    types = {group: read(usage="f(a) - x", group=group).type for group in ("agg_funcs", "window_funcs", "math_funcs")}
    assert types == {"agg_funcs": "aggregate", "window_funcs": "window", "math_funcs": "scalar"}
    assert read(usage="f(a) - x", is_table=True).type == "table"
    assert read(usage="a + b - Adds.", name="+").type == "operator"
    assert read(usage="\n    f(a) / f(b, c) - Two.\n").usage == ("f(a)", "f(b, c)")


def test_few_examples_are_returned() -> None:
    examples = "".join(f"\n > SELECT {n};\n {n}" for n in range(EXAMPLES_MAX + 1))
    assert read(usage="f() - x", examples=examples).examples == tuple(f"SELECT {n};" for n in range(EXAMPLES_MAX))


def test_only_allowed_functions_are_returned_and_a_generator_once() -> None:
    empty = dict.fromkeys(("arguments", "examples", "note", "since", "deprecated"))
    listed = [("explode", False, "generator_funcs"), ("reflect", False, ""), ("EXPLODE", True, ""), ("range", True, "")]
    functions = [
        empty | {"name": name, "is_table": is_table, "usage": f"{name.lower()}(a) - x", "group": group}
        for name, is_table, group in listed
    ]
    text = json.dumps({"functions": functions, "keywords": ["ADD"]})
    found = read_sql_help(text, {"explode"}, {"explode", "range"}, (OWN,))
    assert [(each.name_parts[0], each.type) for each in found.functions] == [
        ("explode", "generator"),
        ("own", "table"),
        ("range", "table"),
    ]
    assert found.keywords == ("ADD",)
