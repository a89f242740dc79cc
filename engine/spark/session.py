"""One Spark for the process, one Spark session for each client session.

Starting takes seconds: the Java process, Spark itself, our own classes if they are not kept (`class_files.py`); a first
query then loads what every query needs. A Spark that dies or hangs is started again (`supervisor.py`), and each
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
- fair scheduling of all statements in one pool (but for configured ones), so that a long query does not hold up short
  ones: the next task is one of the stage that has the fewest running, and of several such stages of the oldest
  (`StageIds.java`). Between pools Spark decides such ties by their names: with one for each session the last ones
  waited for all others;
- reading by field ids, where a scan has any: the reader of rows asks the session for it, and not the scan;
- Spark marks no scans for one task by itself, and takes ours at their word (`RunSettings.java`);
- a class that Spark made of a plan is kept for the next statement like it: with Spark's 100 the questions of one
  dashboard push each other out, and every one is compiled, and optimized by Java, each time;
- pages of memory that are small: Spark's have up to 64 MB, and a sum of ten groups takes one in each task; so are
  blocks of broadcasts, of which each scan and each stage takes one. Java's collector marks the whole heap for every few
  of them, which took a quarter of the processor time of small queries. Its regions are larger, for pages of files;
- of a plan that runs, its shortest text: it is made for Spark's UI, which there is not, after every stage again;
- what a task sends to the driver of the same process goes through memory: Spark's own way for more than 1 MB (part of a
  table that is broadcast, say) is an encrypted connection to itself;
- Java's second compiler begins later: it took another quarter, and a loop over many rows comes there soon enough;
- no artifacts of single sessions, so that executors elsewhere find our classes in every session;
- a task that runs out of memory fails its statement. Spark would end the executor's process, which on a local master is
  the whole of Spark.

A configuration may say otherwise, but for the settings that safety or the seams depend on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from catalog.conditions import SparkRestarting, SparkSettingFixed
from catalog.errors import SqlError
from engine.runtime.metrics import MetricFamily, counter
from engine.runtime.vitals import vital_metrics
from engine.spark.class_files import JAVA_OPTIONS
from engine.spark.file_lists import FileLists
from engine.spark.jvm import EXIT_S
from engine.spark.process import Launch, SparkProcess
from engine.spark.query import ExecSession
from engine.spark.supervisor import Supervision, Supervisor
from engine.spool.private_folder import PrivateFolder
from engine.spool.spool import Spool

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
        # S3A's buffers on disk ask for the file system with checksums; in memory they are to be small.
        "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
        # The default one asks for the length of a file that it was told.
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
        "spark.hadoop.fs.s3a.multipart.size": "16M",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.codegen.cache.maxEntries": "500",
        "spark.sql.shuffle.partitions": "32",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.ui.explainMode": "simple",
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
        "spark.broadcast.blockSize": "256k",
        "spark.network.crypto.cipher": "AES/GCM/NoPadding",
        "spark.network.crypto.enabled": "true",
        "spark.task.maxDirectResultSize": "16m",
    }
)
_DEFAULT_POOL = "default"
"""Of statements that name none; without an entry in the file, its jobs would wait for each other."""
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
_COMPILER_OPTIONS = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=5000"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=120000"
)
"""About four times Java's own numbers of calls and rounds."""
_REGIONS_OPTION = "-XX:G1HeapRegionSize=8m"
_HEAP_OF_REGIONS_MIN, _HEAP_OF_REGIONS_MAX = 1 << 30, 16 << 30
"""Less are too few regions; of more, Java makes them as large or larger by itself."""
_MEMORY = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_MEMORY_UNITS = MappingProxyType({"k": 1 << 10, "": 1 << 20, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40})
_PAGE_BYTES_MIN, _PAGES_OF_TASK = 2 << 20, 8192
_ARRAY_HEADER_BYTES = 16

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

    `column_cache_percent`: of the heap, what columns may take that are kept as they were decoded (`KeptColumns.java`).
    `supervision` says when it is started again; `pools` are names and weights for `StatementRequest.pool`.
    `exit_s`: what Java may take to end.
    """

    master: str = "local[*]"
    driver_memory: str = "2g"
    column_cache_percent: int = 12
    local_dir: str | None = None
    log_level: str = "ERROR"
    supervision: Supervision = Supervision()
    conf: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pools: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    exit_s: float = EXIT_S


class SparkDriver:
    """The running Spark, which is started again where it fails. :meth:`stop` ends its process and removes its files."""

    def __init__(
        self,
        supervisor: Supervisor[SparkProcess],
        folder: PrivateFolder,
        file_lists: FileLists,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`given` are the operator's settings of Spark."""
        self._supervisor = supervisor
        self._folder = folder
        self._file_lists = file_lists
        self._given = given
        self._results = Spool(folder.path / "results")

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
        folder = PrivateFolder(options.local_dir)
        work_dir = folder.path
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
                exit_s=options.exit_s,
            )
            steps = iter((progress,))  # told of the first start only
            supervisor = Supervisor(
                lambda: SparkProcess.start(launch, next(steps, lambda step: None)), options.supervision, on_give_up
            )
            supervisor.start()
        except BaseException:
            file_lists.server.close()
            folder.remove()
            raise
        return cls(supervisor, folder, file_lists, options.conf)

    @property
    def spool_dir(self) -> Path:
        """Where statements that run have their temporary files, a folder each."""
        return self._folder.path / "spool"

    @property
    def process(self) -> SparkProcess:
        """The newest run of Spark, in whatever state. Raises `SparkRestarting` while there is none."""
        return self._supervisor.process

    @property
    def left_statements(self) -> Mapping[str, int]:
        """See :meth:`engine.engine.Engine.left_statements`."""
        with suppress(SparkRestarting):
            return self.process.left_statements
        return {}

    @property
    def unready_reason(self) -> str | None:
        """Why statements that need Spark cannot run now; None where they can."""
        return self._supervisor.unready_reason

    def metrics(self) -> Iterator[MetricFamily]:
        """How Spark is, as far as it told last; returns at once."""
        restarts = "Starts of Spark in the place of a process that failed."
        yield counter("gateway_spark_restarts_total", restarts, self._supervisor.restarts)
        with suppress(SparkRestarting):
            if (vitals := self.process.vitals) is not None:
                yield from vital_metrics(vitals)

    def open_session(self) -> ExecSession:
        """A session with its own settings and current schema."""
        return ExecSession(self._supervisor, self._results, self._given)

    def restart(self, reason: str) -> None:
        """Kill Spark's process, whatever runs in it, and start another; returns at once."""
        self._supervisor.restart(reason)

    def stop(self) -> None:
        """End Spark and its process; running statements fail."""
        self._supervisor.stop()
        self._file_lists.server.close()
        self._folder.remove()


def _allocation(pools: Mapping[str, int]) -> str:
    """Spark's file of pools, its default one included. In each, jobs take turns."""
    pools = {_DEFAULT_POOL: 1, **pools}
    pool = '<pool name="{}"><schedulingMode>FAIR</schedulingMode><weight>{}</weight></pool>'
    return f"<allocations>{''.join(pool.format(*each) for each in pools.items())}</allocations>"


def _heap_bytes(driver_memory: str) -> int:
    found = _MEMORY.fullmatch(driver_memory)
    return int(found[1]) * _MEMORY_UNITS[found[2].lower()] if found else 0


def _page_bytes(heap_bytes: int) -> int:
    """Of one page of a task's memory, which has so few that all of them must not be less than the heap."""
    enough = 1 << max(0, heap_bytes // _PAGES_OF_TASK - 1).bit_length()
    return max(_PAGE_BYTES_MIN, enough) - _ARRAY_HEADER_BYTES  # with which it is an array of a power of two


def _conf(options: SparkOptions, work_dir: Path) -> dict[str, str]:
    """Spark's configuration, given at launch because memory and class path cannot be set later."""
    for folder in ("spool", "results", "warehouse"):
        (work_dir / folder).mkdir()
    logging = work_dir / "log4j2.properties"
    logging.write_text(_LOGGING.format(level=options.log_level))
    pools = work_dir / "pools.xml"
    pools.write_text(_allocation(options.pools))
    owned = {
        **_FIXED_CONF,
        "spark.scheduler.allocation.file": pools.as_uri(),
        "spark.driver.memory": options.driver_memory,
        "spark.gateway.columnCache.percent": str(options.column_cache_percent),
        "spark.local.dir": str(work_dir / "spark"),
        "spark.master": options.master,
        "spark.sql.warehouse.dir": (work_dir / "warehouse").as_uri(),
    }
    for key in options.conf.keys() & owned.keys():
        if options.conf[key] != owned[key]:
            raise SparkSettingFixed(key, owned[key])
    given = options.conf.get(JAVA_OPTIONS, "")
    java_options = f"-Dlog4j2.configurationFile={logging.as_uri()} -XX:+DisableAttachMechanism"
    heap_bytes = _heap_bytes(options.driver_memory)
    if _HEAP_OF_REGIONS_MIN <= heap_bytes <= _HEAP_OF_REGIONS_MAX:
        java_options += f" {_REGIONS_OPTION}"
    java_options = f"{java_options} {_COMPILER_OPTIONS} {given}".rstrip()
    local: Mapping[str, str] = {}
    if _LOCAL.fullmatch(options.master):
        local = {**_LOCAL_CONF, "spark.buffer.pageSize": str(_page_bytes(heap_bytes))}
    # Hadoop gives files permissions of its own, whatever the umask of the process is.
    umask = {"spark.hadoop.fs.permissions.umask-mode": f"{_umask():04o}"}
    return {**_DEFAULT_CONF, **umask, **local, **options.conf, **owned, JAVA_OPTIONS: java_options}


def _umask() -> int:
    """Returns the umask of this process, which another thread would see changed if it were read by setting it."""
    found = re.search(r"^Umask:\s*([0-7]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 8) if found else 0o022
