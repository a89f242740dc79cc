"""Descriptions of functions for editors: signatures, a text, and examples.

Those of Spark's built-in functions are read from its documentation (`ExpressionInfo`), in which `_FUNC_` stands for the
name, and a line `signature - text` may be followed by further lines with a deeper indentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

EXAMPLES_MAX = 5
_TAGS = re.compile(r"</?(?:a|b|br|code|i|li|ol|p|pre|ul)(?:\s[^>]*)?/?>")
_SIGNATURE = re.compile(r"(.{1,300}?) -+ (.*)")
_TYPES: Mapping[str, str] = {"agg_funcs": "aggregate", "window_funcs": "window", "generator_funcs": "generator"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionHelp:
    """A function; `type` is scalar, aggregate, window, generator, table or operator.

    `name_parts` has the catalog and the schema too, except for a built-in function.
    """

    name_parts: tuple[str, ...]
    type: str
    usage: tuple[str, ...]
    description: str = ""
    arguments: str = ""
    examples: tuple[str, ...] = ()
    note: str = ""
    group: str = ""
    since: str = ""
    deprecated: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlHelp:
    """The built-in functions by name, and the keywords."""

    functions: tuple[FunctionHelp, ...]
    keywords: tuple[str, ...]


def read_sql_help(
    text: str, allowed: Collection[str], allowed_tables: Collection[str], own: Collection[FunctionHelp]
) -> SqlHelp:
    """Reads Java's answer (`FunctionDescriptions.java`); returns the allowed functions in it, and `own`."""
    answer = json.loads(text)
    found = {function.name_parts: function for function in own}
    for info in answer["functions"]:
        name = info["name"].lower()
        if name in (allowed_tables if info["is_table"] else allowed):
            # A generator is both a scalar function, which comes first, and a table function.
            found.setdefault((name,), _function(name, info))
    return SqlHelp(functions=tuple(found[name] for name in sorted(found)), keywords=tuple(answer["keywords"]))


def _function(name: str, info: Mapping[str, Any]) -> FunctionHelp:
    info = {key: text.replace("_FUNC_", name) if isinstance(text, str) else text for key, text in info.items()}
    usage, description = _usage(_text(info["usage"]))
    type_ = "table" if info["is_table"] else _TYPES.get(info["group"], "scalar")
    return FunctionHelp(
        name_parts=(name,),
        type=type_ if any(signature.startswith(f"{name}(") for signature in usage) else "operator",
        usage=usage,
        description=description,
        arguments=_body(info["arguments"]),
        examples=tuple(_examples(_text(info["examples"]))),
        note=_body(info["note"]),
        group=info["group"] or "",
        since=info["since"] or "",
        deprecated=_body(info["deprecated"]),
    )


def _usage(text: str) -> tuple[tuple[str, ...], str]:
    """Returns the signatures, and their texts as paragraphs."""
    signatures: list[str] = []
    paragraphs: list[list[str]] = []
    for line in text.splitlines():
        is_first = bool(line.strip()) and (not line[0].isspace() or not signatures)
        match = _SIGNATURE.fullmatch(line.strip()) if is_first else None
        if match:
            signatures += _signatures(match[1])
            paragraphs.append([match[2].strip()])
        elif not signatures and line.strip():  # a signature without a text
            signatures += _signatures(line)
        elif line.strip():
            paragraphs = paragraphs or [[]]
            paragraphs[-1].append(line.strip())
    texts = dict.fromkeys(" ".join(lines) for lines in paragraphs)
    return tuple(signatures), "\n".join(texts)


def _signatures(text: str) -> list[str]:
    return [part.strip() for part in (text.split(" / ") if "(" in text else [text])]


def _examples(text: str) -> Iterator[str]:
    """Yields the statements of the examples, without their results."""
    statements = (line.strip()[1:].strip() for line in text.splitlines() if line.lstrip().startswith(">"))
    for _, statement in zip(range(EXAMPLES_MAX), statements, strict=False):
        yield statement


def _body(text: str | None) -> str:
    """Returns a section without its heading."""
    return dedent(re.sub(r"\A\s*\w+:\s*\n", "", _text(text))).strip()


def _text(text: str | None) -> str:
    return dedent(_TAGS.sub("", text or "").strip("\n").rstrip())
