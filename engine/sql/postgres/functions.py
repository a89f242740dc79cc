"""PostgreSQL's functions as SQL of Spark: a template for each number of arguments, `_1` being the first one.

A function in no table has the same meaning in Spark, or is the user's own. The functions `pg_…` become the expression
for the types of their arguments when Spark knows these (`PostgresFunctions.java`).
"""

from __future__ import annotations

from collections.abc import Mapping

_TRUNC = "(CASE WHEN _1 < 0 THEN ceil(_1) ELSE floor(_1) END)"
_NOW = "current_timestamp()"

TEMPLATES: Mapping[str, Mapping[int, str]] = {
    "log": {1: "log10(_1)", 2: "log(_1, _2)"},
    # Spark's chr has the remainder of a division by 256.
    "chr": {1: "decode(unhex(lpad(hex(CAST(_1 AS BIGINT)), 8, '0')), 'UTF-32')"},
    "strpos": {2: "instr(_1, _2)"},
    "substring": {
        2: "substring(_1, greatest(_2, 1))",
        3: "substring(_1, greatest(_2, 1), greatest(_2 + _3 - greatest(_2, 1), 0))",
    },
    "left": {2: "CASE WHEN _2 >= 0 THEN left(_1, _2) ELSE left(_1, greatest(length(_1) + _2, 0)) END"},
    "right": {2: "CASE WHEN _2 >= 0 THEN right(_1, _2) ELSE substring(_1, 1 - _2) END"},
    "btrim": {1: "trim(_1)", 2: "trim(BOTH _2 FROM _1)"},
    "ltrim": {1: "ltrim(_1)", 2: "trim(LEADING _2 FROM _1)"},
    "rtrim": {1: "rtrim(_1)", 2: "trim(TRAILING _2 FROM _1)"},
    "round": {1: "pg_round(_1)", 2: "round(_1, _2)"},
    "trunc": {1: _TRUNC, 2: "(CASE WHEN _1 < 0 THEN ceil(_1, _2) ELSE floor(_1, _2) END)"},
    "div": {2: "CAST(_1 DIV _2 AS DECIMAL(38, 0))"},
    "pow": {2: "power(_1, _2)"},
    "random": {0: "rand()"},
    "gen_random_uuid": {0: "uuid()"},
    "now": {0: _NOW},
    "transaction_timestamp": {0: _NOW},
    "statement_timestamp": {0: _NOW},
    "clock_timestamp": {0: _NOW},
    "timezone": {2: "pg_at_time_zone(_1, _2)"},
    "date_trunc": {2: "pg_date_trunc(_1, _2)"},
    "make_timestamp": {6: "make_timestamp_ntz(_1, _2, _3, _4, _5, _6)"},
    "make_timestamptz": {
        6: "make_timestamp(_1, _2, _3, _4, _5, _6)",
        7: "make_timestamp(_1, _2, _3, _4, _5, _6, _7)",
    },
    "array_length": {2: "CASE WHEN _2 = 1 THEN nullif(size(_1), 0) END"},
    "array_upper": {2: "CASE WHEN _2 = 1 THEN nullif(size(_1), 0) END"},
    "array_lower": {2: "CASE WHEN _2 = 1 AND size(_1) > 0 THEN 1 END"},
    "cardinality": {1: "size(_1)"},
    "array_prepend": {2: "array_prepend(_2, _1)"},
    "array_cat": {2: "concat(_1, _2)"},
    "array_position": {2: "CAST(nullif(array_position(_1, _2), 0) AS INT)"},
    "array_to_string": {
        2: "array_join(CAST(_1 AS ARRAY<STRING>), _2)",
        3: "array_join(CAST(_1 AS ARRAY<STRING>), _2, _3)",
    },
    "unnest": {1: "explode(_1)"},
    "starts_with": {2: "startswith(_1, _2)"},
    "to_hex": {1: "lower(hex(_1))"},
    "regexp_split_to_array": {2: "split(_1, _2)"},
    "regexp_like": {2: "_1 RLIKE _2"},
    "current_database": {0: "current_catalog()"},
    "current_catalog": {0: "current_catalog()"},
    "row": {},
    "to_timestamp": {1: "timestamp_micros(CAST(_1 * 1000000 AS BIGINT))"},
    "char_length": {1: "char_length(_1)"},
    "factorial": {1: "CAST(factorial(CAST(_1 AS INT)) AS DECIMAL(38, 0))"},
    "justify_hours": {},
}

# Functions that Spark does not have, or has with another meaning.
REFUSED = frozenset(
    "age justify_days justify_hours justify_interval date_bin isfinite pg_typeof setseed nextval currval lastval "
    "setval "
    "scale min_scale trim_scale quote_ident quote_literal quote_nullable parse_ident to_tsvector to_tsquery ts_rank "
    "plainto_tsquery row_to_json to_json to_jsonb array_to_json xmlagg xmlelement query_to_xml regexp_matches "
    "regexp_split_to_table regexp_instr regexp_substr string_to_table array_fill array_dims array_ndims "
    "array_positions array_replace trim_array bit_count get_bit set_bit get_byte set_byte num_nulls num_nonnulls "
    "make_time txid_current inet_client_addr ntile_disc width_bucket_array normalize unistr to_ascii to_number "
    "generate_subscripts xmlparse range_agg range_merge lower_inc upper_inc isempty".split()
)
REFUSED_PREFIXES = ("json_", "jsonb_", "pg_", "ts_", "has_", "lo_", "dblink", "xml")

# The fields of EXTRACT and date_part.
FIELDS: Mapping[str, str] = {
    "epoch": "pg_epoch(_1)",
    "dow": "(dayofweek(_1) - 1)",
    "isodow": "(weekday(_1) + 1)",
    "doy": "dayofyear(_1)",
    "isoyear": "extract(YEAROFWEEK FROM _1)",
    "milliseconds": "(extract(SECOND FROM _1) * 1000)",
    "microseconds": "CAST(extract(SECOND FROM _1) * 1000000 AS BIGINT)",
    "decade": "CAST(floor(year(_1) / 10) AS INT)",
    "century": "CAST(ceil(year(_1) / 100) AS INT)",
    "millennium": "CAST(ceil(year(_1) / 1000) AS INT)",
    **{
        field: f"extract({field.upper()} FROM _1)" for field in "year month day hour minute second quarter week".split()
    },
}

# Parts of the formats of to_char, to_date and to_timestamp, longest first, in Java's patterns.
DATE_FORMATS = (
    ("HH24", "HH"),
    ("HH12", "hh"),
    ("HH", "hh"),
    ("MI", "mm"),
    ("SS", "ss"),
    ("MS", "SSS"),
    ("US", "SSSSSS"),
    ("YYYY", "yyyy"),
    ("yyyy", "yyyy"),
    ("YY", "yy"),
    ("FMMM", "M"),
    ("FMDD", "d"),
    ("Mon", "MMM"),
    ("MM", "MM"),
    ("mm", "MM"),
    ("DDD", "DDD"),
    ("DD", "dd"),
    ("dd", "dd"),
    ("Dy", "EEE"),
    ("AM", "a"),
    ("PM", "a"),
    ("Q", "Q"),
    ("hh24", "HH"),
    ("mi", "mm"),
    ("ss", "ss"),
)
