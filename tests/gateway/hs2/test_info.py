"""GetInfo returns exactly one value for every type, and rejects unknown numbers."""

from __future__ import annotations

import re

import pytest

from catalog.conditions import InfoTypeUnknown
from gateway.hs2.gen.ttypes import TGetInfoType
from gateway.hs2.info import info_value


@pytest.mark.parametrize("info_type", list(TGetInfoType), ids=lambda info_type: info_type.name)
def test_every_type_has_one_value(info_type: TGetInfoType) -> None:
    value = info_value(info_type, "ada")
    assert sum(getattr(value, member) is not None for member in value.__slots__) == 1


def test_info_values_that_drivers_use() -> None:
    assert info_value(TGetInfoType.CLI_DBMS_NAME, "ada").stringValue == "Spark SQL"
    assert re.match(r"\d+\.\d+", info_value(TGetInfoType.CLI_DBMS_VER, "ada").stringValue)
    assert info_value(TGetInfoType.CLI_USER_NAME, "ada").stringValue == "ada"


@pytest.mark.parametrize("info_type", [-1, 3, 99999])
def test_an_unknown_type_is_refused(info_type: int) -> None:
    with pytest.raises(InfoTypeUnknown):
        info_value(info_type, "ada")
