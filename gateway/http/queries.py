"""Typed URL query parameters; pure, except for the current request."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TypeVar

from flask import request

from catalog.conditions import InvalidField

_Option = TypeVar("_Option", bound=StrEnum)


def number_of(name: str, *, default: int, smallest: int = 0, largest: int) -> int:
    """Returns a URL parameter as an integer; `default` if it is missing. Raises `InvalidField`."""
    text = request.args.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,19}", text) or not smallest <= int(text) <= largest:
        raise InvalidField(name, f"must be a whole number from {smallest} to {largest}")
    return int(text)


def option_of(name: str, default: _Option) -> _Option:
    """Returns a URL parameter as a member of the default's enum; `default` if it is missing. Raises `InvalidField`."""
    text = request.args.get(name)
    if text is None:
        return default
    found = next((member for member in type(default) if member == text), None)
    if found is None:
        raise InvalidField(name, f"must be one of {', '.join(type(default))}")
    return found


def text_of(name: str) -> str:
    """Returns a required parameter."""
    text = request.args.get(name)
    if not text:
        raise InvalidField(name, "must be given and not be empty")
    return text
