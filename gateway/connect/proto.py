"""The messages and the service of `pyspark.sql.connect.proto`."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # PySpark's client warns about newer releases of pandas, which the messages do not use.
    warnings.simplefilter("ignore")
    import pyspark.sql.connect.proto as pb2
    import pyspark.sql.connect.proto.base_pb2_grpc as pb2_grpc

__all__ = ["pb2", "pb2_grpc"]
