"""Places in composed SQL lead back to the text that was copied."""

from __future__ import annotations

from engine.sql.query.source_text import SourceText, join_texts, slice_text

USER = "SELECT id, nope FROM s.t"


def test_copied_part_leads_to_its_place_in_the_source() -> None:
    text = join_texts((slice_text(USER, 0, 21), "`__scan_0` AS `t`"))
    assert text == "SELECT id, nope FROM `__scan_0` AS `t`"
    assert text.origin(text.index("nope")) == (USER, USER.index("nope"))


def test_replaced_part_leads_to_the_place_before_it() -> None:
    text = join_texts((slice_text(USER, 0, 21), "`__scan_0`"))
    assert text.origin(text.index("__scan_0")) == (USER, 21)


def test_text_copied_twice_leads_to_the_first_source() -> None:
    inner = join_texts(("SELECT ", slice_text(USER, 11, 15), " AS x"))
    outer = join_texts(("SELECT * FROM (", slice_text(inner, 7, len(inner)), ")"))
    assert outer == "SELECT * FROM (nope AS x)"
    assert outer.origin(outer.index("ope")) == (USER, 12)


def test_text_of_ours_in_front_leads_to_the_first_part() -> None:
    assert join_texts(("DECLARE ", slice_text("DECLARE x INT", 8, 13))).origin(0) == ("DECLARE x INT", 8)
    assert SourceText.of("x", ()).origin(0) is None
