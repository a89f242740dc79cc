"""Types of columns that follow from the text of a query."""

from __future__ import annotations

import pytest

from engine.sql.postgres.result_types import result_types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select j->'a', j->>'a', (j #> '{a}') as b, j #>> '{a}' from t", ("json", None, "json", None)),
        ("select j::jsonb, cast(j as json), j::jsonb->'a'->1, 1", ("jsonb", "json", "jsonb", None)),
        ("with t as (select 1 as a) select a::text::jsonb from t", ("jsonb",)),
        ("(select $1::json)", ("json",)),
        ("select json from t", ()),
        ("select '0'::uuid, gen_random_uuid(), gen_random_uuid() as u, 'x'", ("uuid", "uuid", "uuid", None)),
        ("select *, j->'a' from t", ()),
        ("select t.*, j->'a' from t", ()),
        ("select j->'a' from t union all select k from t", ()),
        ("select 'a'::json || 'b'", ()),
        ("select (select j->'a' from t)", ()),
        ("update t set j = '{}'::json", ()),
        ("select j-> from", ()),
    ],
)
def test_columns_that_are_certainly_json_have_its_type(text: str, expected: tuple[str | None, ...]) -> None:
    assert result_types(text) == expected
