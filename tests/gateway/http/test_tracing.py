"""Statement traces, as an OpenTelemetry collector receives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.conditions import TracingNotInstalled
from engine.concurrency.retry import RetryReason
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.accesses import Access, Commit, StatementAccess, Use
from engine.runtime.identity import Identity
from engine.runtime.profile import SparkJob, Stage
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.spark.session import SparkDriver
from gateway.configuration.config import StatementText, TracingSection
from gateway.observability.tracing import StatementTracer, make_tracer, statement_span
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.trace import Trace
from tests.gateway.arrow_engine import modifies, rows
from tests.gateway.http.conftest import STATEMENTS, Api, Maker
from tests.gateway.otlp_receiver import Collector, Received, collecting

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def tracer_to(collector: Collector, text: StatementText = StatementText.NONE, share: float = 1.0) -> StatementTracer:
    tracer = make_tracer(TracingSection(url=collector.url, statement_text=text, share=share))
    assert tracer
    return tracer


@pytest.fixture
def api(make_api: Maker, collector: Collector) -> Api:
    api = make_api()
    api.registry.tracer = tracer_to(collector, StatementText.REDACTED)
    return api


def sent(api: Api, collector: Collector, text: str, **headers: str) -> Received:
    """Returns a statement's trace."""
    api.request("POST", STATEMENTS, {"statement": text, "wait_timeout": "50s"}, **headers)
    return closed(api.registry, collector)


def closed(registry: Registry, collector: Collector) -> Received:
    registry.drain(0)
    assert registry.tracer
    registry.tracer.close()
    (root,) = collector.roots()
    return root


def insert(request: StatementRequest) -> ResultStream:
    """Runs an insert as the engine does: planned, two lost attempts, and a commit."""
    job = SparkJob(id=7, began_ms=0, ended_ms=0, stages=2, tasks=3, failed_tasks=1, has_succeeded=False)
    touched = Access(name="shop.orders", kind="TABLE", use=Use.WRITE)
    request.on_authorized(StatementAccess(statement="Insert", objects=(touched,)))
    for stage in (Stage.BIND, Stage.EXECUTE):
        request.profile.enter(stage)
    assert request.on_jobs is not None
    request.on_jobs([job])
    request.profile.enter(Stage.COMMIT)
    for reason in (RetryReason.REBASE, RetryReason.RERUN):
        request.on_retry(reason)
    request.on_commit(Commit("shop.orders", 12))
    return modifies(3)(request)


def test_a_statement_is_a_tree(api: Api, collector: Collector) -> None:
    api.engine.answers["INSERT INTO orders VALUES ('hunter2', 5)"] = insert
    headers = {"traceparent": f"00-{TRACE}-{SPAN}-01", "X-Request-Id": "r-1"}
    root = sent(api, collector, "INSERT INTO orders VALUES ('hunter2', 5)", **headers)
    assert (root.trace, root.parent, root.name, root.service) == (TRACE, SPAN, "Insert shop.orders", "delta-gateway")
    reported = {
        "db.system.name": "other_sql",
        "db.operation.name": "Insert",
        "db.collection.name": "shop.orders",
        "db.query.text": "INSERT INTO orders VALUES (?, ?)",
        "user.name": "anonymous",
        "gateway.request.id": "r-1",
        "gateway.statement.state": "finished",
        "gateway.statement.reruns": 1,
    }
    assert reported.items() <= root.attributes.items() and root.attributes["gateway.statement.id"]
    stages = [each.name for each in root.children if each.name != "Spark job"]
    assert stages == ["queue", "parse", "bind", "execute", "commit", "stream"]
    for span in root.children[-len(stages) :]:
        assert root.began_ns <= span.began_ns <= span.ended_ns <= root.ended_ns
    attempts = [each.attributes for each in root.find("commit")[0].children]
    assert attempts == [
        {"gateway.commit.attempt": 1, "gateway.commit.conflict": "rebase"},
        {"gateway.commit.attempt": 2, "gateway.commit.conflict": "rerun"},
        {"gateway.commit.attempt": 3, "gateway.commit.table": "shop.orders", "gateway.commit.version": 12},
    ]
    (job,) = root.find("Spark job")
    assert job.is_error and job.attributes["gateway.spark.job.tasks"] == 3


def test_an_error_has_its_condition(api: Api, collector: Collector) -> None:
    root = sent(api, collector, "nonsense")
    assert root.is_error and root.parent == ""
    assert root.attributes["error.type"] == "PARSE_SYNTAX_ERROR.TEST"
    assert root.attributes["db.response.status_code"] == "42601"


def test_a_trace_that_cannot_be_made_is_nobody_elses_trouble(make_api: Maker) -> None:
    class Broken:
        def export(self, *_: object) -> None:
            raise RuntimeError

        def close(self) -> None:
            pass

    api = make_api()
    api.registry.tracer = StatementTracer(Broken(), StatementText.NONE)
    assert api.submit("SELECT 1", wait_timeout="50s")["status"]["state"] == "SUCCEEDED"
    (operation,) = api.registry.operations()
    reported: list[bool] = []
    operation.on_end(lambda: reported.append(True))
    assert reported


def test_a_client_decides_whether_it_is_traced(api: Api, collector: Collector) -> None:
    api.submit("SELECT 1", wait_timeout="50s")
    api.request("POST", STATEMENTS, {"statement": "ROWS 2"}, traceparent=f"00-{TRACE}-{SPAN}-00")
    assert closed(api.registry, collector).attributes["db.response.returned_rows"] == 1


@pytest.mark.parametrize("parent", [f"00-{TRACE}-{SPAN}-01", None])
def test_no_share_leaves_those_that_clients_want(make_api: Maker, collector: Collector, parent: str | None) -> None:
    api = make_api()
    api.registry.tracer = tracer_to(collector, share=0.0)
    headers = {"traceparent": parent} if parent else {}
    api.request("POST", STATEMENTS, {"statement": "SELECT 1", "wait_timeout": "50s"}, **headers)
    api.registry.drain(0)
    api.registry.tracer.close()
    assert [root.trace for root in collector.roots()] == ([TRACE] if parent else [])


def test_a_session_may_belong_to_a_span(make_api: Maker, collector: Collector) -> None:
    api = make_api()
    api.registry.tracer = tracer_to(collector)
    session = api.registry.open_session(Identity("ann"))
    api.engine.sessions[-1].trace_parent = f"00-{TRACE}-{SPAN}-01"
    session.execute("SELECT 1").wait(60)
    root = closed(api.registry, collector)
    assert (root.trace, root.parent) == (TRACE, SPAN) and "db.query.text" not in root.attributes


def test_tracing_without_a_collector_records_nothing(make_api: Maker) -> None:
    assert make_tracer(TracingSection()) is None
    api = make_api()
    api.submit("SELECT 1", wait_timeout="50s")
    assert api.engine.runs[-1].context.on_jobs is None and api.engine.runs[-1].context.on_lineage is None


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError(name="opentelemetry")

    monkeypatch.setattr("gateway.observability.tracing.importlib.import_module", missing)
    with pytest.raises(TracingNotInstalled) as error:
        make_tracer(TracingSection(url="http://localhost:4318/v1/traces"))
    assert "delta-gateway[otel]" in error.value.hint


@pytest.mark.spark
def test_the_engine_tells_its_jobs_and_commits(tmp_path: Path, spark_driver: SparkDriver, collector: Collector) -> None:
    registry = Registry(
        LakeEngine(open_sources(EngineOptions(lake_folder=str(tmp_path))), spark_driver), Limits(linger_s=0)
    )
    registry.tracer = tracer_to(collector)
    session = registry.open_session(Identity("ann"))
    texts = (
        f"SET traceparent = 00-{TRACE}-{SPAN}-01",
        "CREATE TABLE t (id BIGINT)",
        "INSERT INTO t SELECT id FROM range(10)",
        "SELECT count(DISTINCT id % 3) FROM t",
        "BEGIN INSERT INTO t SELECT id FROM range(10, 20); SELECT max(id) FROM t; END",
    )
    for text in texts:
        operation = session.execute(text)
        operation.wait(60)
        assert operation.error is None, text
    registry.drain(0)
    registry.tracer.close()
    roots = {root.name: root for root in collector.roots()}
    inserted, read = roots["Insert spark_catalog.default.t"], roots["Query spark_catalog.default.t"]
    assert {root.parent for root in (inserted, read)} == {SPAN}
    assert inserted.find("execute")[0].find("Spark job") and read.find("execute")[0].find("Spark job")
    assert all(job.attributes["gateway.spark.job.tasks"] >= 1 for job in read.find("Spark job"))
    (attempt,) = inserted.find("commit")[0].children
    assert attempt.attributes["gateway.commit.version"] == 1
    script = roots["Script spark_catalog.default.t"]
    (execute,) = (stage for stage in script.children if stage.name == "execute")
    assert [stage.name for stage in execute.children].count("bind") == 2 and execute.find("Spark job")
    (attempt,) = script.find("commit attempt")
    assert attempt.attributes["gateway.commit.version"] == 2


def test_row_count_is_traced_after_last_row() -> None:
    operation = Operation(Identity(principal="ann"), "SELECT", rows(pa.table({"a": [1, 2]})), result_bytes_max=1 << 20)
    reported = []
    operation.on_end(lambda: reported.append(statement_span(operation, StatementText.NONE)))
    operation.run()
    assert "db.response.returned_rows" not in reported[0].attributes
    operation.row_count()
    assert statement_span(operation, StatementText.NONE).attributes["db.response.returned_rows"] == 2


def test_a_span_has_jobs_up_to_a_number() -> None:
    operation = Operation(Identity(principal="ann"), "SELECT", rows(pa.table({"a": [1]})), result_bytes_max=1)
    job = SparkJob(id=7, began_ms=0, ended_ms=0, stages=2, tasks=3, failed_tasks=1, has_succeeded=True)
    operation.trace = Trace(jobs=[replace(job, id=n) for n in range(5000)])
    assert len(statement_span(operation, StatementText.NONE).children) == 1000
