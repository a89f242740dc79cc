"""The package's build: setuptools, after the console and the Java classes are built, which are package data.

It is a build backend of its own (PEP 517), so that an error in either ends the build: setuptools continues an editable
install after an error in a command.
"""

from __future__ import annotations

from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from deploy.build_console import CONSOLE, build_console
from deploy.build_java import build_java

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(directory: str, settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds a wheel; see PEP 517."""
    _build_data()
    return build_meta.build_wheel(directory, settings, metadata_directory)


def build_editable(directory: str, settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds an editable install; see PEP 660."""
    _build_data()
    return build_meta.build_editable(directory, settings, metadata_directory)


def _build_data() -> None:
    build_console(CONSOLE)
    build_java()
