"""Random statements are translated, answered or rejected with a `SqlError`; nothing else happens."""

from __future__ import annotations

import random

from catalog.errors import SqlError
from engine.sql.postgres.catalog_query import Parameters, catalog_query
from engine.sql.postgres.scopes import CatalogFunction, CatalogNames, CatalogSession
from engine.sql.postgres.translate import translate
from tests.engine.sql.postgres.dialect_cases import queries, refusals

_WORDS = (
    "select from where group by order limit ( ) [ ] , . :: ' \" $1 $$ ; -- /* */ = <> ~ ~* @> -> ->> #>> + - * / % ^ "
    "|| any all array row case when then else end cast as interval '1 day' extract epoch over partition with recursive "
    "values lateral unnest generate_series pg_class regclass 1 2.5 x t null true not in between like similar to for "
    "update distinct on within filter union except \\ é 😀 \0"
).split(" ")
_NAMES = CatalogNames(
    relations={"pg_catalog.pg_class": {"oid": "oid", "relname": "name"}},
    oids={"pg_catalog.pg_class": 1259},
    functions={"lower": CatalogFunction("text", "lower")},
    tables={},
)
_SESSION = CatalogSession("ann", "main", "sales", {})
_TEXTS = 3000


def test_random_texts_raise_only_sql_errors() -> None:
    chance = random.Random("texts")
    known = [*queries(), *(refusal.text for refusal in refusals())]
    for number in range(_TEXTS):
        if number % 2:
            text = " ".join(chance.choices(_WORDS, k=chance.randrange(1, 25)))
        else:
            words = chance.choice(known).split(" ")
            for _ in range(chance.randrange(1, 4)):
                words[chance.randrange(len(words))] = chance.choice(_WORDS)
            text = " ".join(words)
        for call in (translate, lambda text: catalog_query(text, _NAMES, _SESSION, Parameters())):
            try:
                call(text)
            except SqlError:
                pass


def test_deep_nesting_is_rejected() -> None:
    for text in (
        "select " + "(" * 20_000,
        "select " + "(" * 3000 + "1" + ")" * 3000,
        "select " + "not " * 20_000 + "a",
    ):
        try:
            translate(text)
        except SqlError as error:
            assert error.sqlstate in ("42601", "54001")
