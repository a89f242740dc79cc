"""Every condition that a client may meet is well formed, unique, and can be shown."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from dataclasses import fields, is_dataclass
from string import Formatter

from catalog.errors import declared_errors
from gateway.status import Failure
from tests.tidy.sources import MODULES, PACKAGES

for name in MODULES:
    if not name.endswith("__main__"):
        importlib.import_module(name)

CONDITIONS = [error for error in declared_errors() if error.__module__.partition(".")[0] in PACKAGES]


def test_a_condition_belongs_to_one_class() -> None:
    twice = [name for name, count in Counter(error.condition for error in CONDITIONS).items() if count > 1]
    assert not twice


def test_conditions_and_states_are_well_formed() -> None:
    wrong = [
        error.__name__
        for error in CONDITIONS
        if not re.fullmatch(r"[A-Z0-9_]+(\.[A-Z0-9_]+)*", error.condition)
        or not re.fullmatch(r"[0-9A-Z]{5}", error.sqlstate)
        or not is_dataclass(error)
    ]
    assert not wrong


def test_a_message_is_made_of_the_fields_of_its_class() -> None:
    wrong = []
    for error in CONDITIONS:
        if isinstance(error.__dict__.get("message"), property):
            continue  # it words its message itself
        used = {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(error.template) if name}
        if not used <= {field.name for field in fields(error)}:  # type: ignore[arg-type]
            wrong.append(error.__name__)
    assert not wrong


def test_http_has_an_answer_for_every_condition() -> None:
    for error in CONDITIONS:
        failure = Failure(condition=error.condition, sqlstate=error.sqlstate, message="")
        assert failure.http_status >= 400 and failure.http_error_code
