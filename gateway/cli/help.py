"""The form of every command's help: a description, examples, and the environment variables that it reads."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

# Settings of the server.
SETTINGS = {
    "GATEWAY_<SECTION>_<KEY>": "a setting, for example GATEWAY_SERVER_HTTP_PORT=8081; a list is written"
    ' as in TOML: \'["a", "b"]\'',
}


def help_text(notes: str, examples: Sequence[str], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Returns arguments of an `ArgumentParser` for help that ends with notes, examples and variables."""
    parts = [notes] if notes else []
    parts.append("examples:\n" + "".join(f"  {example}\n" for example in examples))
    if environment:
        width = max(map(len, environment)) + 2
        parts.append("environment:\n" + "".join(f"  {name:{width}}{use}\n" for name, use in environment.items()))
    return {"epilog": "\n".join(parts), "formatter_class": argparse.RawDescriptionHelpFormatter}
