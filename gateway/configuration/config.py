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
from typing import Any, get_args, get_type_hints

from engine.runtime.identity import Method
from gateway.configuration.admission import AdmissionSection, admission_rules
from gateway.configuration.authentication import AuthenticationSection, JwtSection, LdapSection
from gateway.configuration.catalogs import CatalogsSection
from gateway.configuration.fields import NETWORKS_CONSTRAINT, Constraint, setting
from gateway.configuration.storage import StorageSection
from gateway.observability.log_format import LogFormat
from gateway.process.umask import is_umask
from gateway.sessions.limits import Limits

ENVIRONMENT_PREFIX = "GATEWAY_"


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
        "Address to listen on. One that other machines reach needs authentication (authentication.methods) and TLS "
        "(tls_certificate), or a risk among accepted_risks for what it lacks.",
    )
    accepted_risks: tuple[str, ...] = setting(
        (),
        f'What may happen on an address that other machines reach: "{Risk.ANYBODY}" without authentication, '
        f'"{Risk.CLEARTEXT}" without TLS or beside it.',
        constraint=Constraint(f"a list of: {', '.join(repr(str(risk)) for risk in Risk)}", set(Risk).issuperset),
    )
    thrift_port: int = setting(
        10000, "Port for HiveServer2 clients (beeline, PyHive, JDBC); 0 takes any.", low=0, high=65535
    )
    http_port: int = setting(8080, "Port for the HTTP API and its page; 0 takes any.", low=0, high=65535)
    port_file: str = setting("", "File for the ports in use, written as JSON when the server is ready; empty: none.")
    drain_deadline_s: float = setting(
        30.0, "Seconds that running statements get to end after SIGTERM before they are cancelled.", low=0
    )
    http_threads: int = setting(
        64, "Threads that answer HTTP requests; a request that waits for its statement holds one.", low=4, high=1024
    )
    http_hosts: tuple[str, ...] = setting(
        (),
        "Further names by which clients may address the HTTP port, such as the name of a proxy in front of it. "
        "Requests for other names than these, localhost and the address itself are refused, so that no web page can "
        "reach the API through a name of its own.",
    )
    http_trusted_proxies: tuple[str, ...] = setting(
        (),
        "Addresses and networks of proxies, such as 127.0.0.1 or 10.0.0.0/8, whose headers X-Forwarded-Proto, -Host "
        "and -Prefix say how the links in answers begin. From other addresses these headers mean nothing.",
        constraint=NETWORKS_CONSTRAINT,
    )
    public_url: str = setting(
        "",
        "URL under which clients reach the HTTP port, such as https://sql.example.com behind a proxy; the links in "
        "answers begin with it. Empty: the URL that the client asked for.",
        constraint=_URL_CONSTRAINT,
    )
    tls_certificate: str = setting(
        "",
        "PEM file with the server's certificate and its chain. Both ports then take TLS beside plaintext, told apart "
        "by a connection's first byte. Empty: plaintext only.",
    )
    tls_client_authorities: str = setting(
        "", "PEM file with the authorities of clients' certificates, for authentication.methods certificate."
    )
    tls_client_revocations: str = setting(
        "",
        "PEM file with a list of revoked certificates (CRL) of each of the authorities, read again when it changes; "
        "clients are refused when it expired. Empty: none is revoked.",
    )
    tls_key: str = setting("", "PEM file with the certificate's key, without a password; empty: in tls_certificate.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSection:
    """The served tables."""

    folder: str = setting(
        "",
        "Folder whose Delta tables are served: <folder>/<schema>/<table>, and tables directly in it as schema "
        "`default`. Empty: a small sample lake, written at the first start.",
    )
    allowed_roots: tuple[str, ...] = setting(
        (),
        "Further folders below which delta.`/path` may name tables; the lake's own folder always may.",
    )
    trusted_roots: tuple[str, ...] = setting(
        (),
        "Folders whose files the log or metadata of any table may name, such as the sources of shallow clones that "
        "another engine made, or the targets of links. Whoever may write the log of one table can read all files "
        "below these folders. Shallow clones that this server makes do not need it.",
    )
    catalog_folder: str = setting(
        "",
        "Folder of the catalog's own files; empty: `.catalog` in the lake's folder. With authentication it must be "
        "named, and lie outside of the lake and the allowed roots: who writes the lake is not to write rights.",
    )
    umask: str = setting(
        "",
        "Permissions that files and folders of tables are made without, as an octal number: with 0027 the group may "
        "read them, with 0077 nobody else, with 0022 everybody. Empty: those of the process's umask and of 0027. Files "
        "of the catalog are 0600 in any case.",
        constraint=Constraint(
            "empty or an octal number such as 0027, which leaves the owner's", lambda it: not it or is_umask(it)
        ),
    )
    leftovers_age_s: float = setting(
        86_400.0,
        "Age in seconds from which temporary files that killed servers left in logs and in the catalog's folder are "
        "removed at the start; no statement that another server runs may be older.",
        low=3600,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsSection:
    """Limits for client sessions."""

    max: int = setting(1000, "Sessions that may be open at once.", low=1)
    per_user_max: int = setting(
        0, "Sessions of one user; 0: three quarters of sessions.max, or all where nobody logs in.", low=0
    )
    idle_s: float = setting(3600.0, "Seconds without a call after which an idle session closes.", low=1)
    statements_max: int = setting(
        100,
        "Statements that one session may hold open, ended ones included; the oldest that its client has read to the "
        "end makes room for a new one.",
        low=1,
    )
    statements_per_user_max: int = setting(
        1000,
        "Statements that all sessions of one user may hold open together; room is made in the same way.",
        low=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementsSection:
    """Limits for statements."""

    running_max: int = setting(32, "Statements that run at once; further ones wait their turn.", low=1, high=1024)
    abandoned_max: int = setting(
        8,
        "Statements that were cancelled or timed out and that run on (nothing stops Spark's analyzer in the middle of "
        "a rule), besides those of running_max. While so many do not end, no statements are accepted, and Spark is "
        "restarted.",
        low=1,
        high=1024,
    )
    abandoned_per_user_max: int = setting(
        0,
        "Such statements of one user, whose statements alone are rejected then. 0: half of abandoned_max, or all where "
        "nobody logs in.",
        low=0,
        high=1024,
    )
    scan_bytes_max: int = setting(
        0, "Bytes of data files that one statement may read, each file counted once; 0: no limit.", low=0
    )
    timeout_s: float = setting(0.0, "Seconds after which a statement is ended, queueing included; 0: never.", low=0)
    idle_s: float = setting(3600.0, "Seconds after which an ended statement that nobody reads is forgotten.", low=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumesSection:
    """Limits for files that clients upload into volumes."""

    file_bytes_max: int = setting(5 << 30, "Bytes of one uploaded file; a larger one is refused.", low=1)
    uploads_bytes_max: int = setting(
        20 << 30,
        "Bytes of all files that are being uploaded. They wait in spark.local_dir until they have arrived.",
        low=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsSection:
    """Limits for results, which the server holds until they are fetched, mostly in files in spark.local_dir."""

    bytes_max: int = setting(4 << 30, "Bytes of one result; a larger one fails.", low=1)
    memory_bytes_max: int = setting(
        16 << 20,
        "Bytes of one result that may be held in memory where it does not come in files; all results together may "
        "have 16 times as much there.",
        low=0,
    )
    disk_bytes_max: int = setting(
        16 << 30,
        "Bytes of all results on the disk; a statement whose result does not fit beside them fails. Rows of queries "
        "that still run count while they are written, but for the first 4 MiB of each query.",
        low=0,
    )
    disk_bytes_per_user_max: int = setting(
        0, "Bytes of one user's results on the disk; 0: half of disk_bytes_max, or all where nobody logs in.", low=0
    )
    kept_max: int = setting(
        1000, "Results kept of HTTP statements without a session; of the user with most, the oldest go first.", low=1
    )
    kept_bytes_max: int = setting(
        8 << 30,
        "Bytes of all those results together; at most half of what results may have on the disk, and of each user half "
        "of what that may have.",
        low=1,
    )
    link_lifetime_s: float = setting(900.0, "Seconds for which a link to a chunk of a result is good.", low=1)
    cache_bytes_max: int = setting(
        128 << 20,
        "Bytes of memory for the result cache, which answers a query again without running it while its tables have "
        "the same versions; 0: no cache.",
        low=0,
    )
    cache_disk_bytes_max: int = setting(
        1 << 30, "Bytes of files in spark.local_dir for answers that do not fit into that memory; 0: none.", low=0
    )
    cache_result_bytes_max: int = setting(16 << 20, "Bytes of one answer that is kept in the result cache.", low=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSection:
    """The Spark session that reads and writes the data."""

    master: str = setting(
        "local[*]", "Spark's master URL; local[*] runs in one process with all cores.", constraint=_MASTER_CONSTRAINT
    )
    driver_memory: str = setting(
        "2g", "Heap of Spark's driver, which is also the executor of a local master.", constraint=_MEMORY_CONSTRAINT
    )
    column_cache_percent: int = setting(
        12,
        "Percent of the heap for columns of data files on this machine that are read again and again, as they were "
        "decoded; 0: none.",
        low=0,
        high=50,
    )
    warm_up: bool = setting(
        True,
        "Run some statements over a small lake of its own when Spark has started, while none of clients run: the first "
        "ones of clients take less time then.",
    )
    local_dir: str = setting(
        "",
        "Folder for temporary files: what does not fit in memory, and results until they are fetched. Empty: the "
        "system's.",
        constraint=_FOLDER_CONSTRAINT,
    )
    silent_s: float = setting(
        5.0, "Seconds without a sign of life after which Spark counts as not ready, and statements wait for it.", low=2
    )
    stuck_s: float = setting(
        60.0, "Seconds without a sign of life after which Spark's process is killed and started again.", low=5
    )
    wait_s: float = setting(
        60.0,
        "Seconds that a statement waits for Spark while that is not ready; then it fails with SPARK_RESTARTING.",
        low=0,
    )
    failures_max: int = setting(
        5,
        "Starts of Spark in a row of which none became ready, after which the server ends with an error. 0: Spark is "
        "never started again.",
        low=0,
        high=1000,
    )
    conf: Mapping[str, str] = setting(
        {},
        "Further Spark settings by name, as strings; these win over the gateway's own. Requests of Spark to S3 are "
        "bounded by spark.hadoop.fs.s3a.connection.timeout (30s without a byte), connection.request.timeout (60s for "
        "a request), connection.establish.timeout (15s), attempts.maximum (2), retry.limit (4) and "
        "retry.throttle.limit (6, after answers 503).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSection:
    """The audit log."""

    folder: str = setting(
        "",
        "Folder of the audit trail, a file a day: log-ins, sessions and statements as lines of JSON in a chain of "
        "digests, which `delta-gateway audit verify` checks. It must lie outside of the lake. Empty: none is written.",
    )
    statement_text: StatementText = setting(
        StatementText.FULL,
        "What is recorded of a statement's text besides its digest: full (without what looks like a secret), redacted "
        "(without its literals) or none.",
    )
    on_failure: OnFailure = setting(
        OnFailure.REFUSE, "What is done with a statement that cannot be recorded: refuse it, or log that and go on."
    )
    signing_key: str = setting(
        "",
        "PEM file with a private key of Ed25519, with which the number and the digest of the trail's newest line are "
        "signed every 1,000 lines, and within a minute of a line. `delta-gateway audit verify` checks the signatures "
        "with the public key. Empty: nothing is signed.",
    )
    heads_file: str = setting(
        "",
        "File for these signatures, best where those who may write the trail may not. Empty: heads.jsonl in folder.",
    )
    synced: bool = setting(
        False, "Whether each line is on the disk before its statement goes on; else it is with the operating system."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageSection:
    """OpenLineage events with the tables and columns that each statement read and wrote. They require audit.folder."""

    url: str = setting(
        "",
        "Where events are sent, such as http://marquez:5000/api/v1/lineage; each at least once. Empty: none are.",
        constraint=_URL_CONSTRAINT,
    )
    namespace: str = setting("delta-gateway", "Namespace of jobs and datasets.")
    token_file: str = setting("", "File with a token that is sent as a bearer's; of the mode 0600.")
    folder: str = setting("", "Folder of events that wait to be sent. Empty: `lineage` in audit.folder.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingSection:
    """OpenTelemetry traces with each statement's stages, Spark jobs and commits. They require the extra `otel`."""

    url: str = setting(
        "",
        "Where spans are sent over OTLP/HTTP, such as http://collector:4318/v1/traces. Empty: none are.",
        constraint=_URL_CONSTRAINT,
    )
    service: str = setting("delta-gateway", "Name of the service (service.name).")
    share: float = setting(
        1.0, "Share of statements that are traced, of those whose client did not decide it.", low=0, high=1
    )
    statement_text: StatementText = setting(
        StatementText.NONE,
        "What a trace has of a statement's text: full (without what looks like a secret), redacted (without its "
        "literals) or none.",
    )
    token_file: str = setting("", "File with a token that is sent as a bearer's; of the mode 0600.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSection:
    """The server's log, on standard error."""

    level: LogLevel = setting(LogLevel.INFO, "Least severe level that is logged: debug, info, warning or error.")
    format: LogFormat = setting(
        LogFormat.TEXT, "text, or json: an object a line, with the ids of the statement, session and request."
    )
    statements: bool = setting(
        False, "Whether the end of each statement is a line of the level info, with its state and duration."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All sections."""

    server: ServerSection = field(default_factory=ServerSection)
    authentication: AuthenticationSection = field(default_factory=AuthenticationSection)
    ldap: LdapSection = field(default_factory=LdapSection)
    jwt: JwtSection = field(default_factory=JwtSection)
    lake: LakeSection = field(default_factory=LakeSection)
    sessions: SessionsSection = field(default_factory=SessionsSection)
    statements: StatementsSection = field(default_factory=StatementsSection)
    admission: AdmissionSection = field(default_factory=AdmissionSection)
    storage: StorageSection = field(default_factory=StorageSection)
    catalogs: CatalogsSection = field(default_factory=CatalogsSection)
    results: ResultsSection = field(default_factory=ResultsSection)
    volumes: VolumesSection = field(default_factory=VolumesSection)
    spark: SparkSection = field(default_factory=SparkSection)
    audit: AuditSection = field(default_factory=AuditSection)
    lineage: LineageSection = field(default_factory=LineageSection)
    tracing: TracingSection = field(default_factory=TracingSection)
    log: LogSection = field(default_factory=LogSection)

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
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
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
