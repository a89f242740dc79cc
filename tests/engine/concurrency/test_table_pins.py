"""A use of a table is known before its version is loaded, until the statement ends, whatever becomes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.concurrency.table_pins import Pin, TablePins


def test_a_use_is_known_before_the_load_and_until_the_end(tmp_path: Path) -> None:
    pins, place = TablePins(), str(tmp_path)
    seen: list[frozenset[Pin]] = []

    def load(location: str, version: int | None) -> int:
        seen.append(pins.of(location))
        if version == 7:
            raise ValueError
        return 3

    with pytest.raises(ValueError), pins.pinning(load, lambda: 100) as pinned:
        assert pinned(place, None) == 3
        assert pins.of(place) == {Pin(100, None)}
        with pins.pinning(load, lambda: 200) as other:
            other(place, 5)
            assert pins.of(place) == {Pin(100, None), Pin(200, 5)}
        assert pins.of(f"{place}/another") == frozenset()
        pinned(place, 7)
    assert seen == [{Pin(100, None)}, {Pin(100, None), Pin(200, 5)}, {Pin(100, None), Pin(100, 7)}]
    assert pins.of(place) == frozenset()


def test_a_folder_has_one_entry_under_all_its_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    pins = TablePins()
    with pins.pinning(lambda location, version: None, lambda: 1) as pinned:
        pinned(str(tmp_path / "link"), None)
        pinned("s3://bucket/table", 2)
        assert pins.of(str(tmp_path / "real")) == {Pin(1, None)}
        assert pins.of("s3://bucket/table") == {Pin(1, 2)}
