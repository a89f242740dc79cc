"""Every case, by family and name."""

from __future__ import annotations

from tests.oracle.compared.case import Case
from tests.oracle.compared.delete_cases import DELETE_CASES
from tests.oracle.compared.feature_cases import FEATURE_CASES
from tests.oracle.compared.insert_cases import INSERT_CASES
from tests.oracle.compared.statistics_cases import STATISTICS_CASES
from tests.oracle.compared.table_cases import TABLE_CASES

_FAMILIES = {
    "delete": DELETE_CASES,
    "insert": INSERT_CASES,
    "statistics": STATISTICS_CASES,
    "table": TABLE_CASES,
    "feature": FEATURE_CASES,
}
CASES: dict[str, Case] = {
    f"{family} {name}": case for family, cases in _FAMILIES.items() for name, case in cases.items()
}
