"""A relation's rows as one text each, exact in all types, so that two engines' answers compare cell by cell."""

_AS_JSON = """to_json(struct(*), map('ignoreNullFields', 'false', 'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
 'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"))"""


def exact_rows(relation: str) -> str:
    """Returns a query with one column, `r`."""
    return f"SELECT {_AS_JSON} AS r FROM {relation}"
