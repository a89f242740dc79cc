"""DataFrame plans as PySpark's Connect client writes them, without a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyspark.sql.connect.proto as connect_proto
from pyspark.sql.connect import functions
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.session import SparkSession

from engine.runtime.dataframe import DataFramePlan, PlanInput


class NoServer:
    """The part of a client that plans are written with. A channel of gRPC would disturb the start of Spark."""

    _user_id = "ann"
    _session_id = "00112233-4455-6677-8899-aabbccddeeff"

    def get_config_dict(self, *keys: str) -> dict[str, str | None]:
        known = {"spark.sql.session.timeZone": "UTC", "spark.sql.session.localRelationCacheThreshold": "1000000000"}
        return {key: known.get(key, "1000000000" if "local" in key else "false") for key in keys}

    def get_configs(self, *keys: str) -> tuple[str | None, ...]:
        return tuple(self.get_config_dict(*keys).values())


CLIENT = SparkSession.__new__(SparkSession)
CLIENT._client = NoServer()
CLIENT._session_id = NoServer._session_id
CLIENT._timezone = "UTC"
F: Any = functions
proto: Any = connect_proto


def input_table(number: int = 0) -> DataFrame:
    return CLIENT.read.table(f"gateway_input_{number}")


def relation(frame: DataFrame) -> Any:
    """Returns the message for a DataFrame."""
    return frame._plan.plan(CLIENT._client)


def plan(frame: DataFrame | Any, *texts: str | PlanInput) -> DataFramePlan:
    """Returns the plan of a DataFrame, or of a relation's message, over these inputs in their order."""
    message = relation(frame) if isinstance(frame, DataFrame) else frame
    inputs = (
        text if isinstance(text, PlanInput) else PlanInput(name=f"gateway_input_{number}", text=text)
        for number, text in enumerate(texts)
    )
    return DataFramePlan(plan=message.SerializeToString(), inputs=tuple(inputs), description="DataFrame: Test")


MakeFrame = Callable[[DataFrame], DataFrame]
