"""Settings without effect: settings of other programs, and Spark settings that can only be set at start.

Clients send keys of their own (Airflow's `airflow.ctx.dag_id`, Impala's `idle_session_timeout`, Hive's variables). A
key outside :data:`_RESERVED` is stored as text, which only `SET` and `${hivevar:…}` read, and so is one of
:data:`_OF_CLIENTS`, which PySpark's client reads to convert rows. Another reserved key may change answers or reach the
machine, so it has to be one of the known settings. OpenSession makes an exception for
:data:`_WITHOUT_EFFECT`: connection profiles of dbt, Kyuubi and Livy carry the settings of a whole Spark application.
"""

from __future__ import annotations

_RESERVED = (
    *("spark.", "delta.", "fs.", "hadoop.", "dfs.", "javax.", "java.", "env:", "system:"),
    "gateway.",  # a misspelled gateway setting must not be accepted silently
)
# Spark's settings that only change how PySpark creates DataFrames from Python's values, and shows them.
_OF_CLIENTS = tuple(
    f"spark.sql.{group}.".lower()
    for group in (
        *("execution.arrow", "execution.pandas", "execution.pyspark", "execution.pythonUDF", "execution.pythonUDTF"),
        *("pyspark", "repl"),
    )
)
_CORE = (
    *("acls", "admin", "app", "authenticate", "blockManager", "broadcast", "buffer", "checkpoint"),
    *("cleaner", "connect", "cores", "decommission", "default", "deploy", "driver", "dynamicAllocation", "eventLog"),
    *("excludeOnFailure", "executor", "executorEnv", "hadoop", "hadoopRDD", "history"),
    *("hive", "io", "kryo", "kryoserializer", "kubernetes", "launcher", "livy", "local", "locality", "log"),
    *("logConf", "master", "memory", "metrics", "network", "port", "pyspark", "python", "rdd", "reducer"),
    *("redaction", "repl", "resources", "rpc", "scheduler", "security", "serializer", "shuffle", "speculation"),
    *("ssl", "stage", "storage", "submit", "task", "thriftserver", "ui", "unsafe", "worker", "yarn"),
)
_STATIC_SQL = (
    *("cache", "catalog", "catalogImplementation", "event", "extensions", "globalTempDatabase", "hive"),
    *("queryExecutionListeners", "redaction", "streaming", "thriftServer", "thriftserver", "ui", "warehouse"),
)
_WITHOUT_EFFECT = tuple(
    prefix.lower()
    for prefix in (
        *("fs.", "hadoop.", "dfs.", "javax.", "java.", "env:", "system:"),
        *(f"spark.{group}." for group in _CORE),
        *(f"spark.sql.{group}." for group in _STATIC_SQL),
    )
)

# The prefix of a setting that a client sends as one of Hive's.
HIVECONF = "hiveconf:"

# The maximum size of a key and its value, in UTF-8 bytes.
FOREIGN_BYTES_MAX = 16 << 10
# The maximum number of foreign keys per session.
FOREIGN_MAX = 200


def is_reserved(key: str) -> bool:
    """Returns whether `key`, in any case, is empty or has a prefix under which only known settings are accepted."""
    folded = key.lower()
    return not key or (folded.startswith(_RESERVED) and not folded.startswith(_OF_CLIENTS))


def is_livy(key: str) -> bool:
    """Returns whether `key` is a setting of Livy, which is stored, and has no effect either."""
    return key.lower().startswith("livy.")


def is_without_effect(key: str) -> bool:
    """Returns whether `key`, in any case, is one that a session may open with although it has no effect.

    These are Spark's groups of static settings (`spark.driver.…`, `spark.sql.warehouse.…`), and Hadoop's and Java's.
    """
    return f"{key.lower()}.".startswith(_WITHOUT_EFFECT)
