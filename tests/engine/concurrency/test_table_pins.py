"""A table pin exists before its version is loaded, until the statement ends, even after errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.concurrency.table_pins import Pin, TablePins


def test_a_use_is_known_until_the_statement_ends(tmp_path: Path) -> None:
    pins, place = TablePins(), str(tmp_path)
    with pytest.raises(ValueError, match="ends"), pins.statement(lambda: 100) as uses:
        uses.add(place, None)
        assert pins.of(place) == {Pin(100, None)}
        with pins.statement(lambda: 200) as others:
            others.add(place, 5)
            assert pins.of(place) == {Pin(100, None), Pin(200, 5)}
        assert pins.of(f"{place}/another") == frozenset()
        with uses.every_version(place):
            assert pins.of(place) == {Pin(100, None), Pin(100, 0)}
        assert pins.of(place) == {Pin(100, None)}
        raise ValueError("ends")
    assert pins.of(place) == frozenset()


def test_a_folder_has_one_entry_under_all_its_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    pins = TablePins()
    with pins.statement(lambda: 1) as uses:
        uses.add(str(tmp_path / "link"), None)
        uses.add("s3://bucket/table/", 2)
        assert pins.of(str(tmp_path / "real")) == {Pin(1, None)}
        assert pins.of("s3://bucket/table") == {Pin(1, 2)}
