"""One Spark for the process, one Spark session for each client session.

Starting takes seconds: the Java process, Spark itself, and their classes (`class_files.py`); a first query then loads
the classes that every query needs. A Spark that dies or hangs is restarted (`supervisor.py`), and each client's session
is recreated in it when a statement next needs one.

Sessions are cheap (a `newSession` takes 1 ms, its first query no longer than any other), so they are not pooled. All
sessions share executors and files, each has its own settings, current schema and temporary names.

Settings and their reasons:
- loopback only, no UI, no Hive: Spark is not reachable from outside and leaves nothing after the process ends; Spark
stores almost no history about past jobs for its UI;
- on a local master, which generates its own secret, Spark's ports require the secret: they deserialize Java objects
  from any connection, and every user on the machine can connect. A cluster has its own settings for that;
- no variable substitution (`${env:…}` would read the server's environment) and no queries on bare paths;
- local files without Hadoop's `.crc` files, which it would write into tables, trust after another writer has replaced
the data, and which make a colon in a name an error;
- fair scheduling for all statements in one pool (except configured ones), so that a long query does not delay short
ones: the next task is from the stage with the fewest running tasks, and among equal stages from the oldest
(`StageIds.java`). Between pools Spark breaks ties by pool name: with one pool per session the last ones waited for all
others;
- reading by field ids, if a scan has any: the row reader checks the session setting, not the scan;
- Spark does not mark scans for one task on its own, and trusts the gateway's marks (`ExecutionSettings.java`);
- classes that Spark generates for a plan are cached for the next equal statement: with Spark's 100 entries one
dashboard's queries evict each other, and each one is compiled, and optimized by Java, every time;
- small memory pages: Spark's have up to 64 MB, and a sum over ten groups takes one in each task; broadcast blocks are
small too, because each scan and each stage takes one. Java's collector marks the whole heap after a few of them, which
took a quarter of the processor time for small queries. Its regions are larger, for file pages;
- a running plan's shortest text: it is created for Spark's UI, which is disabled, after every stage again;
- data that a task sends to the driver in the same process is passed through memory: Spark's own method for more than
1 MB (part of a broadcast table, for example) is an encrypted connection to itself;
- Java's second compiler starts later: it took another quarter, and a loop over many rows reaches it soon enough;
- no session artifacts, so that remote executors find the gateway's classes in every session;
- a task that runs out of memory fails its statement. Spark would end the executor's process, which on a local master is
the whole Spark.

A configuration may override these, except for settings that security or the Java integration depend on.
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
from engine.runtime.jvm_statistics import jvm_metrics
from engine.runtime.metrics import MetricFamily, counter
from engine.spark.class_files import JAVA_OPTIONS, find_class_files, quote_option
from engine.spark.connectors import CONNECTOR_CONF
from engine.spark.file_lists import FileLists
from engine.spark.gateway_jar import JAR
from engine.spark.jvm import EXIT_S
from engine.spark.process import Launch, SparkProcess
from engine.spark.query import ExecSession
from engine.spark.spark_errors import translate_errors
from engine.spark.supervisor import Supervision, Supervisor
from engine.spool.private_folder import PrivateFolder
from engine.spool.spool import Spool

__all__ = ["ExecSession", "SparkDriver", "SparkOptions", "Supervision"]

_FIXED_CONF = MappingProxyType(
    {
        # Depth 0: not even a fatal error as the direct cause ends the executor, which in
        # local mode is the driver too.
        "spark.executor.killOnFatalError.depth": "0",
        "spark.sql.artifact.isolation.enabled": "false",
        # No Derby metastore on disk, and no second catalog with names of its own.
        "spark.sql.catalogImplementation": "in-memory",
        # Clients and our Arrow readers expect 32-bit offsets.
        "spark.sql.execution.arrow.useLargeVarTypes": "false",
        "spark.sql.optimizer.singleTaskExecution.enabled": "false",
        "spark.sql.optimizer.singleTaskExecution.maxNumFiles": "1000000",
        "spark.sql.optimizer.singleTaskExecution.minNumBytes": "0",
        "spark.sql.optimizer.singleTaskExecution.minNumFiles": "0",
        "spark.sql.parquet.fieldId.read.enabled": "true",
        # INT96 has no statistics in Parquet's footer, and the protocol expects 64-bit
        # timestamps.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # A name such as parquet.`/path` would read files past the catalog and its
        # privileges.
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.variable.substitute": "false",
        # Shredded variants need a table feature of their own ("Variant Shredding").
        "spark.sql.variant.writeShredding.enabled": "false",
    }
)
_DEFAULT_CONF = MappingProxyType(
    {
        "spark.app.name": "delta-gateway",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Otherwise lost executors add up for as long as the server runs, until Spark gives up.
        "spark.executor.failuresValidityInterval": "1h",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        # A request to S3 is sent again after 30 s without a byte, and ends after a minute. A store that stays silent,
        # or answers 503, fails the statement after some minutes; with Hadoop's defaults it would be hours.
        "spark.hadoop.fs.s3a.attempts.maximum": "2",
        "spark.hadoop.fs.s3a.connection.establish.timeout": "15s",
        "spark.hadoop.fs.s3a.connection.request.timeout": "60s",
        "spark.hadoop.fs.s3a.connection.timeout": "30s",
        "spark.hadoop.fs.s3a.retry.limit": "4",
        "spark.hadoop.fs.s3a.retry.throttle.limit": "6",
        # Names of data files are unique, so the store is not asked for each before it is written. Its answer to a
        # conditional put may be lost, and then a repeated one fails.
        "spark.hadoop.fs.s3a.performance.flags": "create",
        "spark.hadoop.fs.s3a.create.conditional.enabled": "false",
        # S3A's disk buffers use the file system with checksums; memory buffers have to be small.
        "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
        # The default stream requests a file's length although it is already known.
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
        "spark.hadoop.fs.s3a.multipart.size": "16M",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.codegen.cache.maxEntries": "500",
        # Spark's 200 is for clusters: with adaptive execution small results are coalesced,
        # but each map task still writes an index entry per partition.
        "spark.sql.shuffle.partitions": "32",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.ui.explainMode": "simple",
        # Each retained execution keeps its plan in the heap, for `ExecutedPlans.java`.
        "spark.sql.ui.retainedExecutions": "50",
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
        # Executors elsewhere do not have the class when they start.
        "spark.hadoop.fs.file.impl": "deltagateway.write.PosixLocalFileSystem",
        "spark.network.crypto.cipher": "AES/GCM/NoPadding",
        "spark.network.crypto.enabled": "true",
        "spark.task.maxDirectResultSize": "16m",
    }
)
# Spark's client of YARN requires a scheme of the local file system, which Hadoop's without checksums lacks.
_YARN_CONF = MappingProxyType({"spark.hadoop.fs.file.impl": "deltagateway.write.PosixLocalFileSystem"})
# Containers have that class when they start, because YARN copies the jar into their folders. Operators may add to it.
_YARN_JAR = (
    ("spark.executor.extraClassPath", ":", JAR.name),
    ("spark.yarn.am.extraClassPath", ":", JAR.name),
    ("spark.yarn.dist.files", ",", str(JAR)),
)
# The pool for statements that name none; without an entry in the file, its jobs would wait for each other.
_DEFAULT_POOL = "default"
_LOCAL = re.compile(r"local(\[[^\]]*\])?")
# About four times Java's own thresholds for calls and loop iterations.
_COMPILER_OPTIONS = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=5000"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=120000"
)
_REGIONS_OPTION = "-XX:G1HeapRegionSize=8m"
# A smaller heap has too few regions; for a larger one, Java chooses equal or larger regions itself.
_HEAP_OF_REGIONS_MIN, _HEAP_OF_REGIONS_MAX = 1 << 30, 16 << 30
_MEMORY = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_MEMORY_UNITS = MappingProxyType({"k": 1 << 10, "": 1 << 20, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40})
_PAGE_BYTES_MIN, _PAGES_OF_TASK = 2 << 20, 8192
_ARRAY_HEADER_BYTES = 16

# A failed statement's error is returned to its client; Spark would also log it, with a stack trace per layer. A failing
# task is the statement's error as well; the two last loggers would repeat it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Options for Spark. `conf` is Spark's own configuration over the gateway's defaults; `local_dir` contains
    temporary files (None: the system's).

    `column_cache_percent`: the heap percentage for the cache with decoded columns (`ColumnCache.java`). `supervision`
    defines when it is restarted; `pools` are names and weights for `StatementRequest.pool`. `exit_s`: Java's time limit
    for ending. Spark does not start without a file system for `needed_urls`.
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
    needed_urls: tuple[str, ...] = ()


class SparkDriver:
    """The running Spark, which is restarted after failures. :meth:`stop` ends its process and removes its files."""

    def __init__(
        self,
        supervisor: Supervisor[SparkProcess],
        folder: PrivateFolder,
        launch: Launch,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`given` are the operator's Spark settings."""
        self._supervisor = supervisor
        self._folder = folder
        self._launch = launch
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
        """Starts Spark; only functions in the two lists may be called. `on_give_up` is called if it fails repeatedly.

        Raises `JavaNotFound`, `JavaClassesOutdated`, `SparkSettingFixed`, or `ConnectorNotFound`,
        `SparkSettingInvalid` or `SparkUnavailable` if Spark does not start.
        """
        folder = PrivateFolder(options.local_dir)
        work_dir = folder.path
        file_lists = FileLists()
        try:
            launch = Launch(
                conf=_conf(options, work_dir),
                spark_dir=work_dir / "spark",
                spool_dir=work_dir / "spool",
                class_files=find_class_files(),
                allowed_functions=allowed_functions,
                allowed_table_functions=allowed_table_functions,
                file_lists=file_lists,
                exit_s=options.exit_s,
                needed_urls=options.needed_urls,
            )
            steps = iter((progress,))  # only the first start reports progress
            supervisor = Supervisor(
                lambda: SparkProcess.start(launch, next(steps, lambda step: None)), options.supervision, on_give_up
            )
            supervisor.start()
        except BaseException:
            file_lists.server.close()
            folder.remove()
            raise
        return cls(supervisor, folder, launch, options.conf)

    @property
    def spool_dir(self) -> Path:
        """Returns the directory for running statements' temporary files, with a subdirectory for each."""
        return self._folder.path / "spool"

    @property
    def process(self) -> SparkProcess:
        """Returns the newest Spark run, in any state. Raises `SparkRestarting` if there is no process."""
        return self._supervisor.process

    @property
    def left_statements(self) -> Mapping[str, int]:
        """See :meth:`engine.engine.Engine.left_statements`."""
        with suppress(SparkRestarting):
            return self.process.left_statements
        return {}

    @property
    def unready_reason(self) -> str | None:
        """Returns why statements that need Spark cannot run now; None if they can."""
        return self._supervisor.unready_reason

    def metrics(self) -> Iterator[MetricFamily]:
        """Yields Spark's last reported metrics; returns immediately."""
        restarts = "Starts of Spark in the place of a process that failed."
        yield counter("gateway_spark_restarts_total", restarts, self._supervisor.restarts)
        with suppress(SparkRestarting):
            if (jvm_statistics := self.process.jvm_statistics) is not None:
                yield from jvm_metrics(jvm_statistics)

    def open_session(self) -> ExecSession:
        """Returns a session with its own settings and current schema."""
        return ExecSession(self._supervisor, self._results, self._given)

    def function_infos(self) -> str:
        """Returns Java's JSON about Spark's functions and keywords. Raises `SparkRestarting`."""
        process = self.process
        with translate_errors(process.gateway.jvm):
            infos: str = process.driver.functionInfos()
        return infos

    def restart(self, reason: str) -> None:
        """Kills Spark's process, with all running statements, and starts another; returns immediately."""
        self._supervisor.restart(reason)

    def stop(self) -> None:
        """Ends Spark and its process; running statements fail."""
        self._supervisor.stop()
        self._launch.processes.close()
        self._launch.file_lists.server.close()
        self._folder.remove()


def _allocation(pools: Mapping[str, int]) -> str:
    """Returns Spark's pool file, including the default pool. Each pool uses fair scheduling."""
    pools = {_DEFAULT_POOL: 1, **pools}
    pool = '<pool name="{}"><schedulingMode>FAIR</schedulingMode><weight>{}</weight></pool>'
    return f"<allocations>{''.join(pool.format(*each) for each in pools.items())}</allocations>"


def _heap_bytes(driver_memory: str) -> int:
    found = _MEMORY.fullmatch(driver_memory)
    return int(found[1]) * _MEMORY_UNITS[found[2].lower()] if found else 0


def _page_bytes(heap_bytes: int) -> int:
    """Returns the size for a memory page; all page slots together must cover the heap."""
    # `TaskMemoryManager` has 8192 page slots per task, as 13 bits of an address name the
    # page.
    enough = 1 << max(0, heap_bytes // _PAGES_OF_TASK - 1).bit_length()
    # the page plus header is an array with a power-of-two size
    return max(_PAGE_BYTES_MIN, enough) - _ARRAY_HEADER_BYTES


def _conf(options: SparkOptions, work_dir: Path) -> dict[str, str]:
    """Returns Spark's configuration, set at launch because memory and class path cannot be changed later."""
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
        # The same value is accepted, because operators copy whole configurations.
        if options.conf[key] != owned[key]:
            raise SparkSettingFixed(key, owned[key])
    given = options.conf.get(JAVA_OPTIONS, "")
    # What Java leaves when it is killed is removed before the next start.
    temporary = quote_option(f"-Djava.io.tmpdir={work_dir / 'spark'}")
    java_options = f"-Dlog4j2.configurationFile={logging.as_uri()} {temporary} -XX:+DisableAttachMechanism"
    heap_bytes = _heap_bytes(options.driver_memory)
    if _HEAP_OF_REGIONS_MIN <= heap_bytes <= _HEAP_OF_REGIONS_MAX:
        java_options += f" {_REGIONS_OPTION}"
    java_options = f"{java_options} {_COMPILER_OPTIONS} {given}".rstrip()
    of_master: Mapping[str, str] = {}
    if _LOCAL.fullmatch(options.master):
        of_master = {**_LOCAL_CONF, "spark.buffer.pageSize": str(_page_bytes(heap_bytes))}
    elif options.master == "yarn":
        jar = {key: separator.join(filter(None, (name, options.conf.get(key)))) for key, separator, name in _YARN_JAR}
        of_master, owned = _YARN_CONF, owned | jar
    # Hadoop sets its own file permissions, independent of the process's umask.
    umask = {"spark.hadoop.fs.permissions.umask-mode": f"{_umask():04o}"}
    return {
        **_DEFAULT_CONF,
        **CONNECTOR_CONF,
        **umask,
        **of_master,
        **options.conf,
        **owned,
        JAVA_OPTIONS: java_options,
    }


def _umask() -> int:
    """Returns this process's umask; reading it by setting it would expose a changed value to other threads."""
    found = re.search(r"^Umask:\s*([0-7]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 8) if found else 0o022
