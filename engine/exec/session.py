"""One Spark for the process, one Spark session for each client session.

Starting takes seconds: the Java process, Spark itself, and, at the same time as Spark, our own classes (`jvm.py`); a
first query then loads what every query needs. A Spark that dies or hangs is started again (`supervisor.py`), and each
client's session is made again in it when a statement next needs one.

Sessions are cheap (a `newSession` takes 1 ms, its first query no longer than any other), so there is no pool of them.
All sessions share executors and files, each has its own settings, current schema and temporary names.

What is set here, and why:
- loopback only, no UI, no Hive: nothing of Spark is reachable from outside and nothing outlives the process; what Spark
  would keep of past jobs for its UI is next to nothing;
- on a local master, which makes up a secret for itself, Spark's own ports take nobody without it: they read objects of
  Java from any connection, and every user of the machine can connect. A cluster has its own settings for that;
- no variable substitution (`${env:…}` would read the server's environment) and no queries on bare paths;
- local files without Hadoop's `.crc` files beside them, which it would write into tables, believe where another writer
  has replaced the data, and which make a colon in a name an error;
- fair scheduling over a fixed number of pools, so that a long query does not hold up short ones;
- reading by field ids, where a scan has any: the reader of rows asks the session for it, and not the scan;
- Spark marks no scans for one task by itself, and takes ours at their word (`RunSettings.java`);
- no artifacts of single sessions, so that executors elsewhere find our classes in every session;
- a task that runs out of memory fails its statement. Spark would end the executor's process, which on a local master is
  the whole of Spark.

A configuration may say otherwise, but for the settings that safety or the seams depend on.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from catalog.errors import SqlError
from engine.exec.errors import SparkSettingFixed
from engine.exec.file_lists import FileLists
from engine.exec.process import Launch, SparkProcess
from engine.exec.query import ExecSession
from engine.exec.supervisor import Supervision, Supervisor
from engine.exec.work_dir import make_work_dir

__all__ = ["ExecSession", "SparkDriver", "SparkOptions", "Supervision"]

_FIXED_CONF = MappingProxyType(
    {
        "spark.executor.killOnFatalError.depth": "0",
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.useLargeVarTypes": "false",
        "spark.sql.optimizer.singleTaskExecution.enabled": "false",
        "spark.sql.optimizer.singleTaskExecution.maxNumFiles": "1000000",
        "spark.sql.optimizer.singleTaskExecution.minNumBytes": "0",
        "spark.sql.optimizer.singleTaskExecution.minNumFiles": "0",
        "spark.sql.parquet.fieldId.read.enabled": "true",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.variable.substitute": "false",
        "spark.sql.variant.writeShredding.enabled": "false",
    }
)
_DEFAULT_CONF = MappingProxyType(
    {
        "spark.app.name": "delta-gateway",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.shuffle.partitions": "32",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.enabled": "false",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "100",
        "spark.ui.showConsoleProgress": "false",
    }
)
_LOCAL_CONF = MappingProxyType(
    {
        "spark.authenticate": "true",
        "spark.network.crypto.cipher": "AES/GCM/NoPadding",
        "spark.network.crypto.enabled": "true",
    }
)
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

# A failing task is the statement's error, which is reported there; the two last loggers would say it again.
_LOGGING = """\
status = off
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{{1}}: %m%n%ex
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = {level}
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.write.name = org.apache.spark.sql.execution.datasources.FileFormatWriter
logger.write.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = {level}
logger.utils.filter.abort.type = RegexFilter
logger.utils.filter.abort.regex = Aborting task
logger.utils.filter.abort.onMatch = deny
logger.utils.filter.abort.onMismatch = neutral
"""
"""A statement that fails is told to its client, in one error; Spark would tell the log too, a stack trace a layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """`conf` is Spark's own configuration over our defaults; `local_dir` holds temporary files (None: the system's).

    `supervision` says when it is started again; `pools` are names and weights for `StatementContext.pool`.
    """

    master: str = "local[*]"
    driver_memory: str = "2g"
    local_dir: str | None = None
    log_level: str = "ERROR"
    supervision: Supervision = Supervision()
    conf: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pools: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


class SparkDriver:
    """The running Spark, which is started again where it fails. :meth:`stop` ends its process and removes its files."""

    def __init__(self, supervisor: Supervisor[SparkProcess], work_dir: Path, file_lists: FileLists) -> None:
        self._supervisor, self._work_dir, self._file_lists = supervisor, work_dir, file_lists

    @classmethod
    def start(
        cls,
        options: SparkOptions,
        *,
        allowed_functions: Collection[str],
        allowed_table_functions: Collection[str],
        progress: Callable[[str], None] = lambda step: None,
        on_give_up: Callable[[SqlError], None] = lambda error: None,
    ) -> SparkDriver:
        """Start Spark; only functions of the two lists may be called. `on_give_up`: it fails again and again.

        Raises `JavaNotFound`, `SparkSettingFixed`, or `SparkUnavailable` where Spark does not come up.
        """
        work_dir = make_work_dir(options.local_dir)
        file_lists = FileLists()
        try:
            launch = Launch(
                conf=_conf(options, work_dir),
                spark_dir=work_dir / "spark",
                spool_dir=work_dir / "spool",
                jar=work_dir / "gateway.jar",
                allowed_functions=allowed_functions,
                allowed_table_functions=allowed_table_functions,
                file_lists=file_lists,
            )
            steps = iter((progress,))  # told of the first start only
            supervisor = Supervisor(
                lambda: SparkProcess.start(launch, next(steps, lambda step: None)), options.supervision, on_give_up
            )
            supervisor.start()
        except BaseException:
            file_lists.server.close()
            shutil.rmtree(work_dir, ignore_errors=True)
            raise
        return cls(supervisor, work_dir, file_lists)

    @property
    def spool_dir(self) -> Path:
        """Where statements that run have their temporary files, a folder each."""
        return self._work_dir / "spool"

    @property
    def process(self) -> SparkProcess:
        """The newest run of Spark, in whatever state. Raises `SparkRestarting` while there is none."""
        return self._supervisor.process

    @property
    def unready_reason(self) -> str | None:
        """Why statements that need Spark cannot run now; None where they can."""
        return self._supervisor.unready_reason

    def open_session(self) -> ExecSession:
        """A session with its own settings and current schema."""
        return ExecSession(self._supervisor)

    def restart(self, reason: str) -> None:
        """Kill Spark's process, whatever runs in it, and start another; returns at once."""
        self._supervisor.restart(reason)

    def stop(self) -> None:
        """End Spark and its process; running statements fail."""
        self._supervisor.stop()
        self._file_lists.server.close()
        shutil.rmtree(self._work_dir, ignore_errors=True)


def _allocation(pools: Mapping[str, int]) -> str:
    """Spark's file of pools. In each, jobs take turns as well."""
    pool = '<pool name="{}"><schedulingMode>FAIR</schedulingMode><weight>{}</weight></pool>'
    return f"<allocations>{''.join(pool.format(*each) for each in pools.items())}</allocations>"


def _conf(options: SparkOptions, work_dir: Path) -> dict[str, str]:
    """Spark's configuration, given at launch because memory and class path cannot be set later."""
    for folder in ("spool", "warehouse"):
        (work_dir / folder).mkdir()
    logging = work_dir / "log4j2.properties"
    logging.write_text(_LOGGING.format(level=options.log_level))
    pools = work_dir / "pools.xml"
    pools.write_text(_allocation(options.pools))
    owned = {
        **_FIXED_CONF,
        "spark.scheduler.allocation.file": pools.as_uri(),
        "spark.driver.memory": options.driver_memory,
        "spark.local.dir": str(work_dir / "spark"),
        "spark.master": options.master,
        "spark.sql.warehouse.dir": (work_dir / "warehouse").as_uri(),
    }
    for key in options.conf.keys() & owned.keys():
        if options.conf[key] != owned[key]:
            raise SparkSettingFixed(key, owned[key])
    given = options.conf.get(_JAVA_OPTIONS, "")
    java_options = f"-Dlog4j2.configurationFile={logging.as_uri()} -XX:+DisableAttachMechanism {given}".rstrip()
    local = _LOCAL_CONF if _LOCAL.fullmatch(options.master) else {}
    return {**_DEFAULT_CONF, **local, **options.conf, **owned, _JAVA_OPTIONS: java_options}
