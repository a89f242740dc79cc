"""Encodes variables and values for Java, and decodes its answers.

The Java side is `SessionVariables.java`, `VariableAssignment.java` and `UnsafeRowBytes.java`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from engine.runtime.parameters import Parameter
from engine.runtime.variables import Assignment, RowValues, Scope, VisibleVariables
from engine.spark.frame import read_header
from engine.spark.schema import AssignmentJson, ParameterJson, VariablesJson
from engine.sql.parameters import literal_text


def variables_request(visible: VisibleVariables) -> VariablesJson:
    """Returns the request that `SessionVariables.java` reads."""
    return {
        "session": _list_variables(visible.session),
        "scopes": [{"label": scope.label, "variables": _list_variables(scope)} for scope in visible.scopes],
    }


def parameter_request(parameter: Parameter) -> ParameterJson:
    """Returns the request that `ParameterMarkers.java` reads."""
    request: ParameterJson = {"name": parameter.name, "value": parameter.value, "type": parameter.sql_type}
    if parameter.members is not None:
        request["text"] = literal_text(parameter)
    elif parameter.row_value is not None:
        request["row_value"] = asdict(parameter.row_value)
    return request


def read_assignment(answer: str) -> Assignment:
    found: AssignmentJson = json.loads(answer)
    names = tuple(field["name"] for field in json.loads(found["row_type"])["fields"])
    return Assignment(
        values=RowValues(found["row_type"], names, tuple(found["rows"])),
        targets=tuple((label, name.lower()) for label, name in found.get("targets", ())),
        default=found["default"],
    )


def read_variables(frame: bytes) -> tuple[str, ...]:
    """Returns the names of the variables that an analyzed query reads."""
    return tuple(read_header(frame)["variables"])


def _list_variables(scope: Scope) -> list[dict[str, Any]]:
    return [asdict(variable) for variable in scope.variables.values()]
