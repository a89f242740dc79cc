"""The composition root: the server's parts, their start order and the shutdown.

    start   open the audit log → check authentication, host, ports, port file, certificate → HTTP (health only)
            → engine (catalog, Spark) → registry → optional ports, Thrift → ready
    drain   reject new statements → running ones end, or are cancelled at the deadline → Thrift → Spark → HTTP

If a part fails to start, the parts that had started are stopped. HTTP starts first and ends last, so that health checks
are always answered.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

from catalog.conditions import StateFolderNotUsable
from catalog.errors import SqlError
from engine.engine import Engine, TableCount
from engine.main import EngineOptions, open_engine
from engine.runtime.identity import Method
from engine.spark.session import SparkOptions, Supervision
from engine.spool.budget import SpoolBudget
from engine.spool.spool import OwnedSpool, Spool
from gateway.audit.auditor import Auditor
from gateway.audit.log_ins import RecordedLogIns
from gateway.audit.start import make_auditor
from gateway.authenticators.chain import Chain
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.start import make_authenticator, open_issuer, open_oidc, open_tokens
from gateway.configuration.catalogs import open_rest_catalogs, open_rest_policy
from gateway.configuration.config import Config
from gateway.configuration.storage import use_configured_credentials
from gateway.forwarding.forwarder import Forwarder
from gateway.forwarding.signed_calls import CallSigner
from gateway.hs2.server import ThriftServer, ThriftSettings, listen
from gateway.hs2.service import FRONT_END as THRIFT
from gateway.http.app import BODY_BYTES_MAX, HttpOptions, create_app
from gateway.http.connection import HttpLimits
from gateway.http.console_page import load_console
from gateway.http.delivery import FRONT_END as STATEMENTS
from gateway.http.hosts import KnownHosts
from gateway.http.row_links import RowLinkMaker
from gateway.http.server import HttpServer, HttpSettings
from gateway.http.staged_links import LinkSigner, StagedLinks, link_signer
from gateway.http.thrift_route import ThriftRoute
from gateway.http.uploads import Uploads
from gateway.lifecycle import Lifecycle, Ports
from gateway.observability.activity import ServerActivity
from gateway.observability.tracing import make_tracer
from gateway.optional_ports import OptionalFrontEnds
from gateway.process.listening import ensure_port_file_writable, ensure_port_free, remove_port_file, write_port_file
from gateway.process.supervision import OnDeath, ignore_death
from gateway.process.tls import TlsFiles, TlsServer
from gateway.recovery import Recovery, TakeOver
from gateway.registry import Registry
from gateway.results.result_store import ResultStore
from gateway.sessions.statement_threads import StatementThreads
from gateway.state.addresses import Address, internal_address
from gateway.state.folder import StateFolder
from gateway.state.journal import AnyFolder, StateStore
from gateway.state.log_ins import LogInFolder, LogIns
from gateway.state.remote_folder import RemoteFolder
from gateway.state.remote_log_ins import RemoteLogIns

logger = logging.getLogger(__name__)

Progress = Callable[[str], None]
OnFailure = Callable[[SqlError], None]
EngineFactory = Callable[[Config, Progress, OnFailure], Engine]


def open_lake_engine(config: Config, progress: Progress, on_failure: OnFailure) -> Engine:
    """Opens the engine over the configured lake; `on_failure` is called when it fails permanently."""
    use_configured_credentials(config.storage, config.catalog_folder)
    options = EngineOptions(
        lake_folder=config.lake.folder,
        catalog_folder=config.catalog_folder,
        allowed_roots=config.lake.allowed_roots,
        trusted_roots=config.lake.trusted_roots,
        tokens=open_tokens(config),
        rest_catalogs=open_rest_catalogs(config.catalogs),
        rest_policy=open_rest_policy(config.catalogs),
        audit_folder=Path(config.audit.folder) if config.audit.folder else None,
        records_lineage=config.lineage.recorded,
        leftovers_age_s=config.lake.leftovers_age_s,
        warms_up=config.spark.warm_up,
        result_cache_bytes=config.results.cache_bytes_max,
        result_cache_entry_bytes=config.results.cache_result_bytes_max,
        result_cache_file_bytes=config.results.cache_disk_bytes_max,
        spark=SparkOptions(
            master=config.spark.master,
            driver_memory=config.spark.driver_memory,
            column_cache_percent=config.spark.column_cache_percent,
            local_dir=config.spark.local_dir or None,
            conf=config.spark.conf,
            needed_urls=tuple(url for url in (config.lake.folder, *config.lake.allowed_roots) if "://" in url),
            pools={group.name: group.weight for group in config.admission.groups},
            supervision=Supervision(
                silent_s=config.spark.silent_s,
                stuck_s=config.spark.stuck_s,
                wait_s=config.spark.wait_s,
                failures_max=config.spark.failures_max,
            ),
        ),
    )
    return open_engine(options, progress, on_failure)


def open_spool(config: Config, folder: AnyFolder | None, parts: ExitStack) -> tuple[Spool, StateStore | None]:
    """Opens the spool for results that wait to be fetched: in the state folder, or next to Spark's local files."""
    results = SpoolBudget(
        config.results.disk_bytes_max,
        config.disk_bytes_per_user_max,
        setting="results.disk_bytes_max",
        owner_setting="results.disk_bytes_per_user_max",
    )
    if folder is None:
        spool = OwnedSpool(config.spark.local_dir or None, results)
        parts.callback(spool.close)
        return spool, None
    records = SpoolBudget(
        config.state.bytes_max,
        config.state_bytes_per_user_max,
        setting="state.bytes_max",
        owner_setting="state.bytes_per_user_max",
    )
    state = StateStore(folder, records, results, _end_process)
    parts.callback(state.close)
    return state.spool, state


def open_state_folder(config: Config) -> AnyFolder | None:
    """Opens the state folder; returns None if there is none, or if the default one cannot be used, as in a lake on a
    read-only disk.
    """
    if not config.state_folder:
        return None
    if "://" in config.state_folder:
        use_configured_credentials(config.storage, config.catalog_folder)
        return RemoteFolder(config.state_folder, config.spark.local_dir or None)
    try:
        return StateFolder(Path(config.state_folder))
    except StateFolderNotUsable as error:
        if config.state.folder:
            raise
        logger.warning("sessions end with this process: %s", error.full_message)
        return None


def _open_log_ins(folder: AnyFolder | None) -> LogIns | None:
    if isinstance(folder, RemoteFolder):
        return RemoteLogIns(folder.files)
    return None if folder is None else LogInFolder(folder.path)


def _end_process() -> None:
    """Ends the process as a crash does, so that its parent starts it again: another gateway has its sessions, and
    whatever it still runs must not commit.
    """
    os.kill(os.getpid(), signal.SIGKILL)


class Server:
    """The server: call `start()` once, then `drain()` once; `progress` receives each step.

    `on_death` is called for a thread that ended by itself and that a front end cannot work without.
    """

    def __init__(
        self,
        config: Config,
        progress: Progress,
        engine_factory: EngineFactory = open_lake_engine,
        on_death: OnDeath = ignore_death,
        restarts: int = 0,
    ) -> None:
        """Prepares the server; `restarts` is the number of restarts after a crash."""
        self._config = config
        self._progress = progress
        self._engine_factory = engine_factory
        self._on_death = on_death
        self._lifecycle = Lifecycle(restarts)
        self._parts = ExitStack()
        self._take_over: TakeOver | None = None

    def start(self) -> Ports:
        """Starts everything; returns when clients can connect. Raises one error, after cleaning up."""
        with ExitStack() as parts:
            ports = self._start(parts)
            self._parts = parts.pop_all()
        return ports

    @property
    def failure(self) -> SqlError | None:
        """Returns the error that requires a shutdown; None if there is no such error."""
        return self._lifecycle.failure

    def on_failure(self, callback: Callable[[], None]) -> None:
        """Registers a callback, called on any thread, for when the server has failed and should be drained."""
        self._lifecycle.on_failure(callback)

    def count_tables(self, seconds: float) -> TableCount | None:
        """Returns how many tables are served; None if the lake cannot be listed within `seconds`."""
        registry, found = self._lifecycle.registry, SimpleQueue[TableCount | None]()

        def count(engine: Engine) -> None:
            try:
                found.put(engine.count_tables())
            except Exception:  # the server serves other tables, and statements report what is wrong
                logger.warning("the tables cannot be counted", exc_info=True)
                found.put(None)

        if registry is None:
            return None
        threading.Thread(target=count, args=[registry.engine], name="count-tables", daemon=True).start()
        try:
            return found.get(timeout=seconds)
        except Empty:
            return None

    @property
    def leaves_threads(self) -> bool:
        """Returns True after the drain if statements still run that cannot be ended, so that the interpreter cannot
        exit.
        """
        registry = self._lifecycle.registry
        return registry is not None and registry.abandoned_count > 0

    def drain(self) -> None:
        """Lets running statements end, then stops everything."""
        self._lifecycle.become_draining()
        with self._parts:  # whatever error a statement's end raises, Spark and the ports are released
            self._progress("draining: no new statements, running ones may end")
            if self._take_over is not None:
                self._take_over.stop()  # other gateways continue with the sessions that are left
            if registry := self._lifecycle.registry:
                registry.drain(self._config.server.drain_deadline_s)
                if registry.state is not None:
                    registry.state.release()  # before Spark ends, so that the sessions continue elsewhere at once
            self._progress("stopping")

    def _start(self, parts: ExitStack) -> Ports:
        config = self._config.server
        auditor = make_auditor(self._config.audit, self._config.lineage)
        parts.callback(auditor.close)
        if tracer := make_tracer(self._config.tracing):
            parts.callback(tracer.close)
        tokens = open_tokens(self._config)
        issuer = open_issuer(self._config)
        known = make_authenticator(self._config, tokens, issuer, auditor.record_reload)
        authenticator: Authenticator = RecordedLogIns(known, auditor, self._lifecycle.traffic)
        for name, port in (("thrift", config.thrift_port), ("http", config.http_port)):
            ensure_port_free(name, config.host, port)
        optional = OptionalFrontEnds(config)
        optional.load()
        if config.port_file:
            ensure_port_file_writable(Path(config.port_file))
        tls = self._tls(auditor)
        hosts = self._known_hosts()
        staged = StagedLinks(LinkSigner(lifetime_s=self._config.results.link_lifetime_s))
        folder = open_state_folder(self._config)
        call_signer = CallSigner(folder.key) if folder is not None else None
        options = HttpOptions(
            call_signer=call_signer,
            log_ins=(log_ins := _open_log_ins(folder)),
            staged=staged,
            threads=config.http_threads,
            hosts=hosts,
            link_lifetime_s=self._config.results.link_lifetime_s,
            public_url=config.public_url,
            proxies=config.http_trusted_proxies,
            tokens=tokens,
            auditor=auditor,
            oauth=issuer.endpoints if issuer else None,
            oidc=open_oidc(self._config, issuer, known),
            console=load_console(),
            mcp=self._config.mcp,
        )
        app = create_app(self._lifecycle, authenticator, options)
        signer = link_signer(self._config.results.link_lifetime_s, call_signer)
        links = RowLinkMaker(signer=signer, staged=staged, public_url=config.public_url)
        calls = ThriftRoute(authenticator, hosts, links, call_signer, log_ins)
        settings = self._http_settings(tls)
        http = HttpServer(app, calls, config.host, config.http_port, settings=settings, on_death=self._on_death)
        http.start()
        parts.callback(http.stop)
        listener = self._thrift_listener(parts)
        spool, state = open_spool(self._config, folder, parts)
        engine = self._engine_factory(self._config, self._progress, self._lifecycle.fail)
        parts.callback(engine.close)
        store = ResultStore(spool, self._config.results.memory_bytes_max)
        registry = Registry(engine, self._config.limits(), self._on_death, authenticator.ensure_current, auditor, store)
        users = known.knows_user if isinstance(known, Chain) else lambda _: False
        engine.show_activity(ServerActivity(self._lifecycle, users))
        registry.tracer, registry.state = tracer, state
        parts.callback(registry.drain, 0)
        self._progress("opening the ports")
        thrift = self._make_thrift(registry, authenticator, ThriftSettings(tls=tls, listener=listener), parts)
        optional.make(registry, authenticator, tls, parts, self._on_death)
        if state is not None and call_signer is not None:
            self._lifecycle.forwarder = Forwarder(state, call_signer, registry, max(1, config.http_threads // 2))
            calls.forwarder = thrift.service.forwarder = self._lifecycle.forwarder
            optional.forward(lambda calls_max: Forwarder(state, call_signer, registry, calls_max))
            front_ends = {STATEMENTS: app.extensions[STATEMENTS], THRIFT: thrift.service, **optional.services}
            self._continue_sessions(Recovery(registry, state, front_ends), registry.threads, state, http, tls)
        self._lifecycle.traffic.connections.update(http=http.connection_count, thrift=thrift.connection_count)
        self._lifecycle.traffic.connections.update(optional.connection_counts)
        ports = Ports(thrift=thrift.start(), http=http.port, optional=optional.start())
        calls.open(thrift.conversations())
        self._lifecycle.become_ready(registry, ports)
        return self._announce(parts, ports)

    def _known_hosts(self) -> KnownHosts:
        config = self._config.server
        own_name = f"[{config.host}]" if ":" in config.host else config.host
        return KnownHosts((own_name, *config.http_hosts, urlsplit(config.public_url).netloc))

    def _make_thrift(
        self, registry: Registry, authenticator: Authenticator, settings: ThriftSettings, parts: ExitStack
    ) -> ThriftServer:
        config = self._config.server
        server = ThriftServer(registry, authenticator, config.host, config.thrift_port, settings, self._on_death)
        # Calls may wait for another gateway, which continues with the sessions.
        parts.callback(server.stop, config.drain_deadline_s)
        return server

    def _announce(self, parts: ExitStack, ports: Ports) -> Ports:
        """Begins the work that requires open ports, and writes the port file; returns the ports."""
        if self._take_over is not None:
            self._take_over.start()
            parts.callback(self._take_over.stop)
        if port_file := self._config.server.port_file:
            write_port_file(Path(port_file), ports)
            parts.callback(remove_port_file, Path(port_file), ports)
        return ports

    def _continue_sessions(
        self, recovery: Recovery, threads: StatementThreads, state: StateStore, http: HttpServer, tls: TlsServer | None
    ) -> None:
        """Restores sessions of former processes, before the ports are open: a client that comes back must not be told
        that its session is unknown.
        """
        config = self._config

        def exchange() -> None:
            host, port = internal_address(config.state.address or config.server.host, http.port)
            certificate = tls.certificate if tls is not None else None
            ports = self._lifecycle.ports  # None: it still starts, and its Spark Connect port follows
            connect_port = ports.optional.get("connect", 0) if ports is not None else 0
            state.announce(Address(host=host, port=port, certificate=certificate, connect_port=connect_port))
            threads.count_elsewhere(state.exchange_counts(threads.running_by_group()))

        exchange()
        recovery.take_over()
        self._take_over = TakeOver(recovery, exchange, state.beat_s, self._on_death)

    def _http_settings(self, tls: TlsServer | None) -> HttpSettings:
        config = self._config
        uploads = Uploads(
            folder=config.spark.local_dir or None,
            file_bytes_max=config.volumes.file_bytes_max,
            held_bytes_max=max(config.volumes.file_bytes_max, config.volumes.uploads_bytes_max),
        )
        limits = HttpLimits(body_bytes_max=BODY_BYTES_MAX, uploads=uploads)
        on_response = self._lifecycle.traffic.add_response
        return HttpSettings(threads=config.server.http_threads, tls=tls, limits=limits, on_response=on_response)

    def _thrift_listener(self, parts: ExitStack) -> socket.socket | None:
        """Opens the Thrift port early after a crash: clients that connect before Spark is ready wait in its backlog."""
        if not self._lifecycle.restarts:
            return None
        return parts.enter_context(listen(self._config.server.host, self._config.server.thrift_port))

    def _tls(self, auditor: Auditor) -> TlsServer | None:
        config = self._config.server
        if not config.tls_certificate:
            return None
        takes_certificates = Method.CERTIFICATE in self._config.authentication.methods
        files = TlsFiles(
            certificate=config.tls_certificate,
            key=config.tls_key,
            client_authorities=config.tls_client_authorities if takes_certificates else "",
            client_revocations=config.tls_client_revocations,
        )
        server = TlsServer(files, auditor.record_reload)
        self._lifecycle.traffic.certificate_expiry = server.expires_s
        return server
