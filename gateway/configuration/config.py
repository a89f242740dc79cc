"""The server's settings: names, types, defaults and descriptions. The classes below are their only list.

`gateway/configuration/loader.py` fills them from a file, the environment and the command line, and prints them as the
reference in `deploy/gateway.example.toml`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from engine.runtime.identity import Method
from gateway.configuration.admission import AdmissionSection, admission_rules
from gateway.configuration.authentication import AuthenticationSection, JwtSection, LdapSection, OidcSection
from gateway.configuration.catalogs import CatalogsSection
from gateway.configuration.fields import NETWORKS_CONSTRAINT, Constraint, setting
from gateway.configuration.storage import StorageSection
from gateway.configuration.umask import is_umask
from gateway.sessions.limits import Limits

ENVIRONMENT_PREFIX = "GATEWAY_"
# The value of `state.folder` for no folder.
NO_FOLDER = "none"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Risk(StrEnum):
    """A risk that an operator must accept explicitly."""

    ANYBODY = "anybody on the network may read and change every table"
    CLEARTEXT = "passwords and data cross the network unencrypted"


class StatementText(StrEnum):
    """The form in which the audit log contains a statement's text, in addition to its digest."""

    FULL = "full"
    REDACTED = "redacted"
    NONE = "none"


class McpMode(StrEnum):
    """Rights of the tools of MCP."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"
    OFF = "off"


class OnFailure(StrEnum):
    """The effect of a failed audit record on the statement."""

    REFUSE = "refuse"
    LOG = "log"


_MEMORY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MEMORY_MIN, _MEMORY_MAX = 512 << 20, 4 << 40


def _is_memory(text: str) -> bool:
    """Returns True for 512 MB to 4 TB: Spark fails below about 450 MB, and Java above its address space."""
    size = re.fullmatch(r"([0-9]{1,15})([kmgt])b?", text.lower())
    return size is not None and _MEMORY_MIN <= int(size[1]) * _MEMORY_UNITS[size[2]] <= _MEMORY_MAX


def _is_usable_folder(text: str) -> bool:
    """Returns True if a file can be created there; permissions do not reveal a read-only file system."""
    if not text:
        return True
    try:
        tempfile.TemporaryDirectory(dir=text).cleanup()
    except OSError:
        return False
    return True


_MASTER_CONSTRAINT = Constraint(
    "local, local[N], local[*], spark://HOST:PORT, yarn or k8s://URL",
    re.compile(
        r"local(\[(\*|[1-9][0-9]*)(, *[1-9][0-9]*)?\])?|local-cluster\[[0-9]+, *[0-9]+, *[0-9]+\]"
        r"|spark://[^\s/:,]+:[0-9]+(,[^\s/:,]+:[0-9]+)*|yarn|k8s://\S+"
    ).fullmatch,
)
_MEMORY_CONSTRAINT = Constraint("a size from 512m to 4t, such as 2g,", _is_memory)
_URL_CONSTRAINT = Constraint(
    "a URL such as https://sql.example.com or https://example.com/sql",
    re.compile(r"(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[^\s?#]*)?)?").fullmatch,
)
_FOLDER_CONSTRAINT = Constraint("a folder that exists and can be written", _is_usable_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSection:
    """Listening addresses and shutdown."""

    host: str = setting(
        "127.0.0.1",
        "Address to listen on. An address that other machines can reach requires authentication "
        "(authentication.methods) and TLS (tls_certificate), or the matching entries in accepted_risks.",
    )
    accepted_risks: tuple[str, ...] = setting(
        (),
        'Risks that are accepted on an address that other machines can reach: "anybody on the network may '
        'read and change every table" allows a server without authentication, "passwords and data cross the '
        'network unencrypted" one without TLS, or with plaintext in addition to TLS.',
        constraint=Constraint(f"a list of: {', '.join(repr(str(risk)) for risk in Risk)}", set(Risk).issuperset),
    )
    thrift_port: int = setting(
        10000, "Port for HiveServer2 clients (beeline, PyHive, JDBC); 0 selects a free one.", low=0, high=65535
    )
    http_port: int = setting(8080, "Port for the HTTP API and the console; 0 selects a free one.", low=0, high=65535)
    connect_port: int = setting(
        -1,
        "Port for Spark Connect clients (PySpark's SparkSession.builder.remote), 0 for a free one; -1: closed. It "
        "requires the extra `connect`. With tls_certificate it accepts TLS only.",
        low=-1,
        high=65535,
    )
    postgres_port: int = setting(
        -1,
        "Port for PostgreSQL's clients (psql, psycopg, JDBC), 0 for a free one; -1: closed. With tls_certificate it "
        "accepts TLS in addition to plaintext.",
        low=-1,
        high=65535,
    )
    flight_port: int = setting(
        -1,
        "Port for Arrow Flight SQL clients (ADBC, the JDBC driver of Arrow), 0 for a free one; -1: closed. It requires "
        "the extra `flight`. With tls_certificate it accepts TLS only.",
        low=-1,
        high=65535,
    )
    port_file: str = setting("", "File to which the ports are written as JSON when the server is ready; empty: none.")
    drain_deadline_s: float = setting(
        30.0, "Time in seconds that running statements have after SIGTERM before they are cancelled.", low=0
    )
    http_threads: int = setting(
        64,
        "Number of threads for HTTP requests. A request that waits for its statement occupies one.",
        low=4,
        high=1024,
    )
    http_hosts: tuple[str, ...] = setting(
        (),
        "Additional host names in HTTP requests, such as the name of a proxy. Requests with another name than "
        "these, localhost and the address itself are rejected, which prevents DNS rebinding by web pages.",
    )
    http_trusted_proxies: tuple[str, ...] = setting(
        (),
        "Addresses and networks of trusted proxies, such as 127.0.0.1 or 10.0.0.0/8. Their headers "
        "X-Forwarded-Proto, -Host and -Prefix determine the links in responses; from other addresses, the "
        "headers are ignored.",
        constraint=NETWORKS_CONSTRAINT,
    )
    public_url: str = setting(
        "",
        "URL at which clients reach the HTTP port, such as https://sql.example.com for a proxy; links in "
        "responses begin with it. Empty: the URL in the request.",
        constraint=_URL_CONSTRAINT,
    )
    tls_certificate: str = setting(
        "",
        "PEM file with the server's certificate chain. The Thrift and HTTP ports then accept TLS in addition to "
        "plaintext, and detect it by a connection's first byte; connect_port and flight_port accept TLS only. Empty: "
        "plaintext only.",
    )
    tls_client_authorities: str = setting(
        "", "PEM file with the certificate authorities for client certificates, for authentication.methods certificate."
    )
    tls_client_revocations: str = setting(
        "",
        "PEM file with a certificate revocation list (CRL) for each authority. It is reloaded when it "
        "changes; clients are rejected after it has expired. Empty: no revocations.",
    )
    tls_key: str = setting(
        "", "PEM file with the certificate's private key, without a password; empty: the key is in tls_certificate."
    )

    @property
    def optional_ports(self) -> Mapping[str, int]:
        """Returns the settings of the ports that may be closed (-1), by the name in the port file."""
        return {"connect": self.connect_port, "postgres": self.postgres_port, "flight": self.flight_port}


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSection:
    """The served tables."""

    folder: str = setting(
        "",
        "Folder whose tables are served: <folder>/<schema>/<table>, and tables directly in it as schema "
        "`default`. Empty: a small sample lake, which is written at the first start.",
    )
    allowed_roots: tuple[str, ...] = setting(
        (),
        "Additional folders below which delta.`/path` can name tables; the lake's own folder is always allowed.",
    )
    trusted_roots: tuple[str, ...] = setting(
        (),
        "Folders whose files any table's log or metadata may refer to, such as the sources of shallow clones "
        "by another engine, or the targets of links. Everybody who can write the log of one table can read "
        "all files below these folders. Shallow clones by this server do not need it.",
    )
    catalog_folder: str = setting(
        "",
        "Folder for the catalog's own files; empty: `.catalog` in the lake's folder. With authentication it "
        "must be set, and be outside the lake and the allowed roots, so that write access to the lake does "
        "not include write access to grants.",
    )
    umask: str = setting(
        "",
        "Permission bits to remove from new files and folders of tables, as an octal number: with 0027 the "
        "group can read them, with 0077 nobody else can, with 0022 everybody can. Empty: the process's umask "
        "combined with 0027. The catalog's files always have mode 0600.",
        constraint=Constraint(
            "empty or an octal number such as 0027, which leaves the owner's", lambda it: not it or is_umask(it)
        ),
    )
    leftovers_age_s: float = setting(
        86_400.0,
        "Minimum age in seconds of temporary files to be removed at startup, which killed servers left in "
        "logs and in the catalog's folder. It must exceed the duration of every statement on other servers.",
        low=3600,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsSection:
    """Limits for client sessions."""

    max: int = setting(1000, "Maximum number of open sessions.", low=1)
    per_user_max: int = setting(
        0,
        "Maximum number of open sessions per user; 0: three quarters of sessions.max, or all without authentication.",
        low=0,
    )
    idle_s: float = setting(3600.0, "Time in seconds after which a session without a request is closed.", low=1)
    statements_max: int = setting(
        100,
        "Maximum number of open statements per session, including finished ones. If it is reached, the oldest "
        "finished statement whose result was read is closed.",
        low=1,
    )
    statements_per_user_max: int = setting(
        1000,
        "Maximum number of open statements per user in all sessions together, with the same rule.",
        low=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementsSection:
    """Limits for statements."""

    running_max: int = setting(
        32, "Maximum number of concurrent statements; further ones are queued.", low=1, high=1024
    )
    abandoned_max: int = setting(
        8,
        "Maximum number of statements that were cancelled or timed out but still run (Spark's analyzer cannot "
        "be interrupted within a rule), in addition to running_max. If it is reached, statements are rejected "
        "and Spark is restarted.",
        low=1,
        high=1024,
    )
    abandoned_per_user_max: int = setting(
        0,
        "Maximum number of such statements per user; if it is reached, only this user's statements are "
        "rejected. 0: half of abandoned_max, or all without authentication.",
        low=0,
        high=1024,
    )
    scan_bytes_max: int = setting(
        0,
        "Maximum number of bytes in the data files that one statement reads, each file counted once; 0: no limit.",
        low=0,
    )
    timeout_s: float = setting(
        0.0,
        "Time in seconds after which a statement is cancelled, including its time in the queue; 0: no limit.",
        low=0,
    )
    idle_s: float = setting(
        3600.0, "Time in seconds after which a finished statement is closed if nobody reads its result.", low=1
    )
    unpolled_s: float = setting(
        3600.0,
        "Time in seconds without a request in its session after which a running statement of the statement API or the "
        "console is cancelled; 0: no limit.",
        low=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesSection:
    """Limits for files that clients upload into volumes."""

    file_bytes_max: int = setting(
        5 << 30, "Maximum size in bytes of one uploaded file; a larger one is rejected.", low=1
    )
    uploads_bytes_max: int = setting(
        20 << 30,
        "Maximum size in bytes of all uploads in progress. They are stored in spark.local_dir until they are complete.",
        low=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsSection:
    """Limits for results, which the server holds until they are fetched, mostly in files in spark.local_dir."""

    bytes_max: int = setting(4 << 30, "Maximum size of one result in bytes; a larger one fails.", low=1)
    memory_bytes_max: int = setting(
        16 << 20,
        "Maximum size in bytes of one result in memory, if it is not spooled to files; the limit for all "
        "results together is 16 times as large.",
        low=0,
    )
    disk_bytes_max: int = setting(
        16 << 30,
        "Maximum size in bytes of all spooled results; a statement whose result does not fit fails. Rows of "
        "running queries count, except for the first 4 MiB of each query.",
        low=0,
    )
    disk_bytes_per_user_max: int = setting(
        0,
        "Maximum size in bytes of one user's spooled results; 0: half of disk_bytes_max, or all without "
        "authentication.",
        low=0,
    )
    kept_max: int = setting(
        1000,
        "Maximum number of retained results of HTTP statements without a session; if it is exceeded, the "
        "oldest results of the user with the most are removed.",
        low=1,
    )
    kept_bytes_max: int = setting(
        8 << 30,
        "Maximum size in bytes of these results together; at most half of the limit for spooled results, "
        "overall and per user.",
        low=1,
    )
    link_lifetime_s: float = setting(900.0, "Validity in seconds of a link to a result chunk.", low=1)
    cache_bytes_max: int = setting(
        128 << 20,
        "Size in bytes of the result cache in memory, which answers a repeated query without running it as "
        "long as its tables have the same versions; 0: no cache.",
        low=0,
    )
    cache_disk_bytes_max: int = setting(
        1 << 30,
        "Size in bytes of the result cache's files in spark.local_dir, for results that do not fit into "
        "memory; 0: none.",
        low=0,
    )
    cache_result_bytes_max: int = setting(16 << 20, "Maximum size in bytes of one result in the result cache.", low=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSection:
    """Tools for agents over the Model Context Protocol (MCP), on the HTTP port at /api/2.0/mcp."""

    mode: McpMode = setting(
        McpMode.READ_ONLY,
        "Rights of agents: read_only (tools change nothing, whatever the user may do), read_write (the tool "
        "execute_sql runs any statement with the user's privileges) or off (there are no tools).",
    )
    rows_max: int = setting(1000, "Maximum number of rows in a result.", low=1, high=100_000)
    bytes_max: int = setting(
        256 << 10,
        "Maximum size in bytes of the rows in a result. A result with more is truncated, and says so.",
        low=1024,
        high=8 << 20,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSection:
    """The state folder, from which sessions, statements and results continue after the server's process has ended."""

    folder: str = setting(
        "",
        "Folder on a local disk, or a URL of an object store with put-if-absent; empty: `.state` next to the catalog's "
        "folder, or none if that is read-only or in an object store. "
        'The text "none" turns it off: sessions end with the process. It must be outside the lake and the allowed '
        "roots, as the catalog's folder: it has results and the texts of statements.",
    )
    address: str = setting(
        "",
        "Address of the HTTP port for other gateways with the same state folder, as host or host:port; empty: "
        "server.host and the port in use, with the name of this machine if the host is every address.",
    )
    bytes_max: int = setting(
        1 << 30,
        "Maximum size in bytes of the records about sessions and statements, without results in files; beyond it, "
        "new statements are not recorded.",
        low=0,
    )
    bytes_per_user_max: int = setting(
        0, "Maximum size in bytes of one user's records; 0: half of bytes_max, or all without authentication.", low=0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSection:
    """The Spark session that reads and writes the data."""

    master: str = setting(
        "local[*]", "Spark's master URL; local[*] runs in one process with all cores.", constraint=_MASTER_CONSTRAINT
    )
    driver_memory: str = setting(
        "2g",
        "Heap size of Spark's driver, which is also the executor with a local master.",
        constraint=_MEMORY_CONSTRAINT,
    )
    column_cache_percent: int = setting(
        12,
        "Percentage of the heap for the column cache, which has decoded columns of frequently read local data "
        "files; 0: none.",
        low=0,
        high=50,
    )
    warm_up: bool = setting(
        True,
        "Run some statements over a small internal lake after Spark has started, while there are no client "
        "statements, so that the first client statements are faster.",
    )
    local_dir: str = setting(
        "",
        "Folder for temporary files: data that exceeds memory, and spooled results. Empty: the system's "
        "temporary folder.",
        constraint=_FOLDER_CONSTRAINT,
    )
    silent_s: float = setting(
        5.0,
        "Time in seconds without a heartbeat after which Spark is considered not ready, and statements wait.",
        low=2,
    )
    stuck_s: float = setting(
        60.0, "Time in seconds without a heartbeat after which Spark's process is killed and restarted.", low=5
    )
    wait_s: float = setting(
        60.0,
        "Time in seconds that a statement waits for Spark if it is not ready; then the statement fails with "
        "SPARK_RESTARTING.",
        low=0,
    )
    failures_max: int = setting(
        5,
        "Number of consecutive failed starts of Spark after which the server ends with an error. 0: Spark is "
        "never restarted.",
        low=0,
        high=1000,
    )
    conf: Mapping[str, str] = setting(
        {},
        "Additional Spark settings by name, as strings; they take precedence over the gateway's own. Spark's requests "
        "to S3 are bounded by spark.hadoop.fs.s3a.connection.timeout (30s without a byte), connection.request.timeout "
        "(60s for a request), connection.establish.timeout (15s), attempts.maximum (2), retry.limit (4) and "
        'retry.throttle.limit (6, for responses with status 503). spark.gateway.optimizer.<rule>.enabled = "false" '
        "turns off one of the gateway's rules in Spark's optimizer, which the reference of session settings lists.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSection:
    """The audit log."""

    folder: str = setting(
        "",
        "Folder for the audit log, one file per day: logins, sessions and statements as JSON lines in a hash "
        "chain, which `delta-gateway audit verify` checks. It must be outside the lake. Empty: no audit log.",
    )
    statement_text: StatementText = setting(
        StatementText.FULL,
        "Recorded form of a statement's text, in addition to its digest: full (without apparent secrets), "
        "redacted (without literals) or none.",
    )
    on_failure: OnFailure = setting(
        OnFailure.REFUSE, "Action if a statement cannot be recorded: refuse it, or log the failure and continue."
    )
    signing_key: str = setting(
        "",
        "PEM file with an Ed25519 private key. The number and digest of the audit log's newest line are "
        "signed every 1,000 lines, and within a minute after a line; `delta-gateway audit verify` checks the "
        "signatures with the public key. Empty: no signatures.",
    )
    heads_file: str = setting(
        "",
        "File for these signatures, preferably one that users with write access to the audit log cannot "
        "write. Empty: heads.jsonl in folder.",
    )
    synced: bool = setting(
        False, "Write each line to disk before its statement continues; otherwise the operating system may delay it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageSection:
    """Recorded lineage of tables, and OpenLineage events about each statement, which require audit.folder."""

    recorded: bool = setting(
        True,
        "Record which tables, views and files each committed statement read, for system.access.table_lineage, "
        "system.access.column_lineage and the console.",
    )
    url: str = setting(
        "",
        "URL to which events are sent at least once, such as http://marquez:5000/api/v1/lineage. Empty: no events.",
        constraint=_URL_CONSTRAINT,
    )
    namespace: str = setting("delta-gateway", "Namespace of jobs and datasets.")
    token_file: str = setting("", "File with a bearer token for these requests, with mode 0600.")
    folder: str = setting("", "Folder for events that wait to be sent. Empty: `lineage` in audit.folder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingSection:
    """OpenTelemetry traces with each statement's stages, Spark jobs and commits. They require the extra `otel`."""

    url: str = setting(
        "",
        "URL to which spans are sent over OTLP/HTTP, such as http://collector:4318/v1/traces. Empty: no traces.",
        constraint=_URL_CONSTRAINT,
    )
    service: str = setting("delta-gateway", "Service name (service.name).")
    share: float = setting(1.0, "Fraction of statements to trace, if the client did not decide.", low=0, high=1)
    statement_text: StatementText = setting(
        StatementText.NONE,
        "Form of a statement's text in traces: full (without apparent secrets), redacted (without literals) or none.",
    )
    token_file: str = setting("", "File with a bearer token for these requests, with mode 0600.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSection:
    """The server's log, on standard error."""

    level: LogLevel = setting(LogLevel.INFO, "Minimum severity: debug, info, warning or error.")
    format: LogFormat = setting(
        LogFormat.TEXT,
        "Format: text, or json (one object per line, with the ids of the statement, session and request).",
    )
    statements: bool = setting(False, "Log the end of each statement at level info, with its state and duration.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All sections."""

    server: ServerSection = field(default_factory=ServerSection)
    authentication: AuthenticationSection = field(default_factory=AuthenticationSection)
    ldap: LdapSection = field(default_factory=LdapSection)
    jwt: JwtSection = field(default_factory=JwtSection)
    oidc: OidcSection = field(default_factory=OidcSection)
    lake: LakeSection = field(default_factory=LakeSection)
    sessions: SessionsSection = field(default_factory=SessionsSection)
    statements: StatementsSection = field(default_factory=StatementsSection)
    admission: AdmissionSection = field(default_factory=AdmissionSection)
    storage: StorageSection = field(default_factory=StorageSection)
    catalogs: CatalogsSection = field(default_factory=CatalogsSection)
    results: ResultsSection = field(default_factory=ResultsSection)
    volumes: VolumesSection = field(default_factory=VolumesSection)
    mcp: McpSection = field(default_factory=McpSection)
    state: StateSection = field(default_factory=StateSection)
    spark: SparkSection = field(default_factory=SparkSection)
    audit: AuditSection = field(default_factory=AuditSection)
    lineage: LineageSection = field(default_factory=LineageSection)
    tracing: TracingSection = field(default_factory=TracingSection)
    log: LogSection = field(default_factory=LogSection)

    @property
    def catalog_folder(self) -> str:
        """Returns the catalog's folder; an empty string if no lake is configured either."""
        lake = self.lake
        return lake.catalog_folder or (f"{lake.folder.rstrip('/')}/.catalog" if lake.folder else "")

    @property
    def state_folder(self) -> str:
        """Returns the state folder; an empty string for none."""
        folder, catalog = self.state.folder, self.catalog_folder
        if folder or not catalog or "://" in catalog:
            return "" if folder == NO_FOLDER else folder
        return str(Path(catalog).parent / ".state")

    @property
    def state_bytes_per_user_max(self) -> int:
        """Returns the limit for one user's records."""
        state, users_log_in = self.state, Method.ANONYMOUS not in self.authentication.methods
        return state.bytes_per_user_max or state.bytes_max // (2 if users_log_in else 1)

    @property
    def disk_bytes_per_user_max(self) -> int:
        """Returns the limit for one user's results."""
        results, users_log_in = self.results, Method.ANONYMOUS not in self.authentication.methods
        return results.disk_bytes_per_user_max or results.disk_bytes_max // (2 if users_log_in else 1)

    def limits(self) -> Limits:
        """Returns the limits in the registry's form."""
        users_log_in = Method.ANONYMOUS not in self.authentication.methods
        share = (self.sessions.max * 3 + 3) // 4 if users_log_in else 0
        return Limits(
            sessions_max=self.sessions.max,
            sessions_per_user_max=self.sessions.per_user_max or share,
            session_idle_s=self.sessions.idle_s,
            statements_running_max=self.statements.running_max,
            admission=admission_rules(
                self.admission,
                running_max=self.statements.running_max,
                abandoned_max=self.statements.abandoned_max,
                scan_bytes_max=self.statements.scan_bytes_max,
                users_log_in=users_log_in,
            ),
            abandoned_max=self.statements.abandoned_max,
            abandoned_per_user_max=self.statements.abandoned_per_user_max
            or (max(1, self.statements.abandoned_max // 2) if users_log_in else 0),
            statements_per_session_max=self.sessions.statements_max,
            statements_per_user_max=self.sessions.statements_per_user_max,
            statement_idle_s=self.statements.idle_s,
            statement_unpolled_s=self.statements.unpolled_s,
            statement_timeout_s=self.statements.timeout_s,
            result_bytes_max=self.results.bytes_max,
            kept_max=self.results.kept_max,
            kept_bytes_max=min(self.results.kept_bytes_max, self.results.disk_bytes_max // 2),
            kept_bytes_per_user_max=self.disk_bytes_per_user_max // 2,
            logs_statements=self.log.statements,
        )


SECTIONS: Mapping[str, type] = get_type_hints(Config)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting with its full name, such as `server.http_port`."""

    section: str
    key: str
    kind: Any
    default: object
    doc: str
    low: float | None
    high: float | None
    constraint: Constraint | None

    @property
    def table(self) -> type | None:
        """Returns the item class for a setting that is a list with tables."""
        item = next(iter(get_args(self.kind)), None)
        return item if isinstance(item, type) and is_dataclass(item) else None

    @property
    def name(self) -> str:
        """Returns the name as in messages and documentation, `section.key`."""
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """Returns the environment variable that sets it, for example `GATEWAY_SERVER_HTTP_PORT`."""
        return f"{ENVIRONMENT_PREFIX}{self.section}_{self.key}".upper()


def settings() -> Iterator[Setting]:
    """Yields all settings in the example file's order."""
    for section, kind in SECTIONS.items():
        yield from settings_of(section, kind)


def settings_of(section: str, kind: type) -> Iterator[Setting]:
    """Yields the settings in one section, or in one table of a list."""
    hints, defaults = get_type_hints(kind), kind()
    for member in fields(kind):
        yield Setting(section, member.name, hints[member.name], getattr(defaults, member.name), **member.metadata)
