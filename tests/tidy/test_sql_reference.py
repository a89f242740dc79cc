"""The shell's reference matches the statement registry."""

from __future__ import annotations

from tests.tidy.sql_reference import REFERENCE, reference


def test_reference_of_the_shell_is_current() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run `make reference`"
