"""Settings of other programs: Hive, Hadoop, Impala, Kyuubi, Databricks' warehouses.

Clients and scripts set them everywhere, and they mean nothing here. So they are taken, kept for `SET` to show, and
change nothing; the same goes for those that come with OpenSession. A key is foreign by its prefix, whose owner is
another program, or is one of the few names without a prefix; keys of Spark itself are never foreign, because one that
is ignored might have changed answers.
"""

from __future__ import annotations

_PREFIXES = (
    *("hive.", "hadoop.", "mapred.", "mapreduce.", "tez.", "yarn.", "dfs.", "fs.", "javax.jdo.", "datanucleus."),
    *("hiveconf:", "hivevar:", "metaconf:", "impala.", "kyuubi.", "spark.thriftserver.", "spark.hive."),
)
_NAMES = frozenset(
    {
        # Databricks' parameters that have no counterpart
        *("enable_photon", "max_file_partition_bytes", "query_tags", "read_only_external_metastore"),
        # options that impyla's users and Impala's scripts send before a statement
        *("batch_size", "mem_limit", "mt_dop", "num_nodes", "request_pool", "query_timeout_s", "sync_ddl"),
    }
)
VALUE_CHARACTERS_MAX = 10_000
FOREIGN_MAX = 1000
"""How many a session may keep."""


def is_foreign(key: str) -> bool:
    """Whether `key`, in any case, is a setting of another program."""
    folded = key.lower()
    return folded.startswith(_PREFIXES) or folded in _NAMES


def foreign_key(key: str) -> str:
    """The spelling under which a foreign setting is kept: names without a prefix are the same in any case."""
    return key.lower() if key.lower() in _NAMES else key
