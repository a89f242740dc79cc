"""Long tables on a terminal go through a pager."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gateway.cli.output import PagedOutput


@pytest.fixture
def paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pager that writes its input to a file, on a terminal of 6 lines with 20 columns."""
    monkeypatch.setenv("PAGER", f"tee {tmp_path}/paged")
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "6")
    return tmp_path / "paged"


def write(lines: list[str]) -> str:
    out = io.StringIO()
    with PagedOutput(out) as stream:
        for line in lines:
            stream.write(line)
    return out.getvalue()


def test_output_that_fits_the_screen_skips_the_pager(paged: Path) -> None:
    assert write(["a\n", "b\n"]) == "a\nb\n" and not paged.exists()


@pytest.mark.parametrize("lines", [["a\n", "b\n", "c\n", "d\n", "e\n", "f\n"], ["a\n", "x" * 21 + "\n", "b\n"]])
def test_longer_and_wider_output_goes_to_the_pager(paged: Path, lines: list[str]) -> None:
    assert write(lines) == "" and paged.read_text() == "".join(lines)


@pytest.mark.parametrize("pager", ["", "/no/such/pager"])
def test_output_without_a_pager_is_written_directly(paged: Path, monkeypatch: pytest.MonkeyPatch, pager: str) -> None:
    monkeypatch.setenv("PAGER", pager)
    lines = [f"{number}\n" for number in range(20)]
    assert write(lines) == "".join(lines)


def test_pager_that_is_left_early_is_no_error(paged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "true")
    assert write([f"{number}\n" for number in range(100_000)]) == ""
