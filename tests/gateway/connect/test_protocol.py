"""Sessions, operations and streams of the Spark Connect port."""

from __future__ import annotations

import json
import threading
import time
import uuid

import grpc
import pyarrow as pa
import pyspark.sql.connect.proto as pb2
import pytest
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_status import rpc_status
from pyspark.errors.exceptions.connect import (
    ParseException,
    SparkConnectException,
    SparkConnectGrpcException,
    SparkException,
    UnsupportedOperationException,
)

from catalog.conditions import ConcurrentAppend
from catalog.errors import Position
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from gateway.connect.replies import Response
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ScriptSyntaxError, Streams, fails, rows
from tests.gateway.connect.lab import Lab, execute_request, proxied, rows_of, table_of
from tests.gateway.http.conftest import eventually


def test_rows_arrive_with_their_schema(lab: Lab) -> None:
    client = lab.client()
    assert rows_of(client, "SELECT 1") == [{"1": 1}]
    assert [row["id"] for row in rows_of(client, "ROWS 2500")] == list(range(2500))


def test_result_without_rows_has_one_empty_batch(lab: Lab) -> None:
    lab.engine.answers["SELECT none"] = rows(pa.table({"a": pa.array([], pa.int64())}))
    stub = lab.stub()
    responses = list(stub.ExecutePlan(execute_request("SELECT none", str(uuid.uuid4()))))
    kinds = [one.WhichOneof("response_type") or "schema" for one in responses]
    assert kinds == ["schema", "arrow_batch", "result_complete"]
    assert table_of(responses).num_rows == 0


def test_responses_continue_after_each_received_one(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("ROWS 300000", session_id)
    responses = list(stub.ExecutePlan(request))
    assert len(responses) > 4
    for number, response in enumerate(responses[:-1]):
        rest = list(stub.ReattachExecute(_reattach(request, response.response_id)))
        assert [one.response_id for one in rest] == [one.response_id for one in responses[number + 1 :]]
    again = list(stub.ReattachExecute(_reattach(request, None)))
    assert table_of(again).equals(table_of(responses))


def test_response_of_no_operation_is_position_not_found(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("SELECT 1", session_id)
    list(stub.ExecutePlan(request))
    for wrong in ("x", f"{uuid.uuid4()}.0.0.0.0", f"{request.operation_id}.a.0.0.0"):
        with pytest.raises(grpc.RpcError, match=r"INVALID_CURSOR\.POSITION_NOT_FOUND"):
            list(stub.ReattachExecute(_reattach(request, wrong)))


def test_large_rows_arrive_in_chunks_that_continue(lab: Lab) -> None:
    lab.engine.answers["SELECT large"] = rows(pa.table({"s": ["x" * 50_000, "y" * 50_000]}))
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("SELECT large", session_id)
    options = request.request_options.add().result_chunking_options
    options.allow_arrow_batch_chunking, options.preferred_arrow_chunk_size = True, 30_000
    responses = list(stub.ExecutePlan(request))
    chunks = [one.arrow_batch for one in responses if one.HasField("arrow_batch")]
    assert [chunk.chunk_index for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.num_chunks_in_batch for chunk in chunks} == {len(chunks)} != {1}
    rest = list(stub.ReattachExecute(_reattach(request, responses[2].response_id)))
    data = b"".join(one.arrow_batch.data for one in [*responses[:3], *rest] if one.HasField("arrow_batch"))
    assert pa.ipc.open_stream(data).read_all()["s"].to_pylist() == ["x" * 50_000, "y" * 50_000]


def test_client_continues_after_its_connection_was_cut(lab: Lab) -> None:
    with proxied(lab.port) as proxy:
        proxy.cut_after = [4_000_000, 3_000_000, 1_000_000]
        client = lab.client(port=proxy.port)
        assert [row["id"] for row in rows_of(client, "ROWS 400000")] == list(range(400_000))
        assert proxy.cuts == 3
    assert [run.text for run in lab.engine.runs].count("ROWS 400000") == 1


def test_stream_ends_after_its_time_and_client_reattaches() -> None:
    lab = Lab(stream_s=0.2)
    try:
        answer = lab.engine.answers["SELECT slow"] = Streams()

        def end() -> None:
            answer.give(1, 2)
            answer.end()

        timer = threading.Timer(3, end)
        timer.start()
        assert rows_of(lab.client(), "SELECT slow") == [{"id": 1}, {"id": 2}]
        timer.join()
        assert [run.text for run in lab.engine.runs] == ["SELECT slow"]
    finally:
        lab.close()


def test_new_stream_replaces_the_former_one(lab: Lab) -> None:
    answer = lab.engine.answers["SELECT slow"] = Streams()
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("SELECT slow", session_id)
    first = stub.ExecutePlan(request)
    assert eventually(lambda: bool(lab.engine.runs))
    second = stub.ReattachExecute(_reattach(request, None))
    with pytest.raises(grpc.RpcError, match=r"INVALID_CURSOR\.DISCONNECTED"):
        list(first)
    answer.give(7)
    answer.end()
    assert table_of(list(second)).to_pylist() == [{"id": 7}]


def test_same_request_again_continues_the_operation(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("ROWS 10", session_id)
    first = list(stub.ExecutePlan(request))
    assert [one.response_id for one in stub.ExecutePlan(request)] == [one.response_id for one in first]
    assert len(lab.engine.runs) == 1
    other = execute_request("ROWS 11", session_id)
    other.operation_id = request.operation_id
    with pytest.raises(grpc.RpcError, match=r"INVALID_HANDLE\.OPERATION_ALREADY_EXISTS"):
        list(stub.ExecutePlan(other))


def test_release_frees_the_operation(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("ROWS 10", session_id)
    list(stub.ExecutePlan(request))
    (session,) = lab.registry.sessions()
    assert len(session.operations()) == 1
    release = pb2.ReleaseExecuteRequest(
        session_id=session_id,
        user_context=request.user_context,
        operation_id=request.operation_id,
        release_all=pb2.ReleaseExecuteRequest.ReleaseAll(),
    )
    assert stub.ReleaseExecute(release).operation_id == request.operation_id
    assert session.operations() == ()
    assert not stub.ReleaseExecute(release).HasField("operation_id")
    with pytest.raises(grpc.RpcError, match=r"INVALID_HANDLE\.OPERATION_NOT_FOUND"):
        list(stub.ReattachExecute(_reattach(request, None)))


def test_released_statements_are_removed_from_the_session(lab: Lab) -> None:
    client = lab.client()
    for _ in range(20):
        rows_of(client, "ROWS 10")
    (session,) = lab.registry.sessions()
    assert eventually(lambda: session.operations() == ())


def test_client_that_vanishes_cancels_a_statement_that_is_not_reattachable(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("SLEEP 100", session_id)
    del request.request_options[:]
    stream = stub.ExecutePlan(request)
    assert eventually(lambda: bool(lab.engine.runs))
    stream.cancel()
    assert eventually(lambda: lab.engine.runs[0].context.cancel.reason is not None)
    (session,) = lab.registry.sessions()
    assert eventually(lambda: session.operations() == ())


def test_detached_statement_is_abandoned_after_its_time() -> None:
    lab = Lab(detached_s=0.3)
    try:
        stub, session_id = lab.stub(), str(uuid.uuid4())
        request = execute_request("SLEEP 100", session_id)
        stream = stub.ExecutePlan(request)
        assert eventually(lambda: bool(lab.engine.runs))
        stream.cancel()
        assert eventually(lambda: lab.engine.runs[0].context.cancel.reason is not None)
        with pytest.raises(grpc.RpcError, match=r"INVALID_HANDLE\.OPERATION_ABANDONED"):
            list(stub.ReattachExecute(_reattach(request, None)))
    finally:
        lab.close()


@pytest.mark.parametrize("kind", ["id", "tag", "all"])
def test_interrupt_ends_operations(lab: Lab, kind: str) -> None:
    client = lab.client()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            client.add_tag("slow")  # the tags are the thread's own
            rows_of(client, "SLEEP 100")
        except SparkConnectException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert eventually(lambda: len(lab.engine.runs) == 1)
    (status,) = client._get_operation_statuses().operation_statuses
    assert status.state == pb2.GetStatusResponse.OperationStatus.OPERATION_STATE_RUNNING
    assert client.interrupt_tag("other") == []
    interrupts = {
        "id": lambda: client.interrupt_operation(status.operation_id),
        "tag": lambda: client.interrupt_tag("slow"),
        "all": client.interrupt_all,
    }
    assert interrupts[kind]() == [status.operation_id]
    thread.join(60)
    assert "OPERATION_CANCELED" in str(errors[0])


def test_errors_have_the_classes_condition_and_state_of_spark(lab: Lab) -> None:
    client = lab.client()
    with pytest.raises(ParseException) as caught:
        rows_of(client, "nonsense")
    assert caught.value.getCondition() == "PARSE_SYNTAX_ERROR.TEST"
    assert caught.value.getSqlState() == "42601"
    assert caught.value.getMessageParameters() == {"text": "nonsense"}
    lab.engine.answers["SELECT bug"] = fails(RuntimeError("secret"))
    with pytest.raises(SparkException, match="INTERNAL_ERROR") as internal:
        rows_of(client, "SELECT bug")
    assert "secret" not in str(internal.value)


def test_conflict_has_the_classes_of_deltas_client(lab: Lab) -> None:
    lab.engine.answers["SELECT conflict"] = fails(ConcurrentAppend("t", 1, "WRITE", "the table"))
    with pytest.raises(grpc.RpcError) as caught:
        list(lab.stub().ExecutePlan(execute_request("SELECT conflict", str(uuid.uuid4()))))
    status = rpc_status.from_call(caught.value)
    info = ErrorInfo()
    assert status is not None and status.details[0].Unpack(info)
    assert json.loads(info.metadata["classes"])[:2] == [
        "io.delta.exceptions.ConcurrentAppendException",
        "io.delta.exceptions.DeltaConcurrentModificationException",
    ]


def test_position_of_an_error_is_its_query_context(lab: Lab) -> None:
    text = "SELECT\n  wrong"
    error = ScriptSyntaxError("wrong").at(Position.in_text(text, text.index("wrong")))
    lab.engine.answers[text] = fails(error)
    with pytest.raises(ParseException) as caught:
        rows_of(lab.client(), text)
    (found,) = caught.value.getQueryContext()
    assert found.fragment() == "  wrong"
    assert found.summary() == "line 2, column 3\n  wrong\n  ^"
    assert caught.value.getMessageParameters() == {"text": "wrong"}


def test_metrics_of_the_plan_arrive_with_its_end_and_again_after_reattaching(lab: Lab) -> None:
    metrics = pb2.ExecutePlanResponse.ObservedMetrics(name="m", keys=["n"], values=[{"long": 7}])
    receivers: list[bool] = []

    def answer(request: StatementRequest) -> ResultStream:
        receivers.append(request.on_observed is not None)
        if request.on_observed is not None:
            request.on_observed([metrics.SerializeToString()])
        return rows(pa.table({"a": [1]}))(request)

    lab.engine.answers["DataFrame: collect_metrics(t)"] = lab.engine.answers["DataFrame: limit(t)"] = answer
    table = pb2.Relation(read=pb2.Read(named_table=pb2.Read.NamedTable(unparsed_identifier="t")))
    stub, session_id = lab.stub(), str(uuid.uuid4())
    for relation, expected in (
        (pb2.Relation(collect_metrics={"input": table, "name": "m"}), [metrics]),
        (pb2.Relation(limit={"input": table, "limit": 1}), []),
    ):
        request = execute_request("", session_id)
        request.plan.root.CopyFrom(relation)
        responses = list(stub.ExecutePlan(request))
        reattach = pb2.ReattachExecuteRequest(
            session_id=session_id, user_context=request.user_context, operation_id=request.operation_id
        )
        reattach.last_response_id = responses[-2].response_id
        for last in (responses[-1], *stub.ReattachExecute(reattach)):
            assert last.HasField("result_complete") and list(last.observed_metrics) == expected
    assert receivers == [True, False]


def test_long_message_arrives_whole(lab: Lab) -> None:
    text = "x" * 5000
    with pytest.raises(ParseException) as caught:
        rows_of(lab.client(), f"nonsense {text} end")
    assert len(str(caught.value)) < 5000  # names in messages are shortened
    assert caught.value.getMessageParameters()["text"].endswith("end")


def test_other_users_session_and_operation_are_unknown(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    request = execute_request("ROWS 10", session_id, "ada")
    ours = list(stub.ExecutePlan(request))
    theirs = _reattach(request, None)
    theirs.user_context.user_id = "bob"
    with pytest.raises(grpc.RpcError, match=r"INVALID_HANDLE\.SESSION_NOT_FOUND"):
        list(stub.ReattachExecute(theirs))
    same_id = execute_request("SELECT 1", session_id, "bob")
    found = list(stub.ExecutePlan(same_id))
    assert found[0].server_side_session_id != ours[0].server_side_session_id
    with pytest.raises(grpc.RpcError, match=r"INVALID_HANDLE\.OPERATION_NOT_FOUND"):
        list(stub.ReattachExecute(theirs))
    assert {session.principal for session in lab.registry.sessions()} == {"ada", "bob"}
    assert table_of(list(stub.ReattachExecute(_reattach(request, None)))).num_rows == 10


def test_closed_session_is_reported_to_its_client(lab: Lab) -> None:
    client = lab.client()
    rows_of(client, "SELECT 1")
    (session,) = lab.registry.sessions()
    lab.registry.close_session(session.id, session.identity)
    with pytest.raises(SparkConnectGrpcException, match=r"INVALID_HANDLE\.SESSION_CHANGED"):
        rows_of(client, "SELECT 1")
    assert client.is_closed


def test_released_session_does_not_open_again(lab: Lab) -> None:
    client = lab.client()
    rows_of(client, "SELECT 1")
    client.release_session()
    assert lab.registry.sessions() == ()
    with pytest.raises(SparkConnectGrpcException, match=r"INVALID_HANDLE\.SESSION_CLOSED"):
        rows_of(client, "SELECT 1")


def test_idle_session_expires() -> None:
    lab = Lab(limits=Limits(reap_every_s=0.1, session_idle_s=0.3))
    try:
        rows_of(lab.client(), "SELECT 1")
        assert len(lab.registry.sessions()) == 1
        assert eventually(lambda: lab.registry.sessions() == ())
        assert eventually(lambda: lab.server.session_count() == 0)
    finally:
        lab.close()


def test_session_does_not_expire_while_its_statement_runs() -> None:
    lab = Lab(limits=Limits(reap_every_s=0.1, session_idle_s=1.5))
    try:
        assert rows_of(lab.client(), "SLEEP 4") == [{"slept": 4.0}]
    finally:
        lab.close()


def test_clone_has_the_state_and_is_independent(lab: Lab) -> None:
    client = lab.client()
    rows_of(client, "SELECT 1")
    lab.engine.sessions[0].settings["a"] = "1"
    clone = client.clone()
    rows_of(clone, "SELECT 1")
    assert lab.engine.sessions[1].settings == {"a": "1"}
    assert len(lab.registry.sessions()) == 2
    clone.close()


def test_setting_of_the_client_is_read_and_unknown_one_rejected(lab: Lab) -> None:
    client = lab.client()
    assert client.get_configs("spark.sql.timestampType") == ("TIMESTAMP_LTZ",)
    with pytest.raises(SparkConnectException, match="SQL_CONF_NOT_FOUND"):
        client.get_configs("spark.unknown")


def test_zone_of_a_session_without_one_is_sparks(lab: Lab) -> None:
    lab.engine.answers["SELECT current_timezone()"] = rows(pa.table({"z": ["Asia/Tokyo"]}))
    client, other = lab.client(), lab.client()
    for one in (client, other):
        assert one.get_configs("spark.sql.session.timeZone") == ("Asia/Tokyo",)
    assert [run.text for run in lab.engine.runs].count("SELECT current_timezone()") == 1


def test_artifacts_are_rejected_by_name(lab: Lab) -> None:
    client = lab.client()
    with pytest.raises(UnsupportedOperationException, match="Sending artifacts"):
        client.add_artifacts(__file__, pyfile=True, archive=False, file=False)


@pytest.mark.parametrize("field", ["session_id", "operation_id"])
def test_id_that_is_no_uuid_is_rejected(lab: Lab, field: str) -> None:
    request = execute_request("SELECT 1", str(uuid.uuid4()))
    setattr(request, field, "x")
    with pytest.raises(grpc.RpcError, match="is not a UUID"):
        list(lab.stub().ExecutePlan(request))


def test_shutdown_ends_streams(lab: Lab) -> None:
    stub, session_id = lab.stub(), str(uuid.uuid4())
    stream = stub.ExecutePlan(execute_request("SLEEP 100", session_id))
    assert eventually(lambda: bool(lab.engine.runs))
    began = time.monotonic()
    lab.close()
    with pytest.raises(grpc.RpcError):
        list(stream)
    assert time.monotonic() - began < 60
    assert eventually(lambda: lab.engine.runs[0].context.cancel.reason is not None)


def _reattach(request: pb2.ExecutePlanRequest, last: str | None) -> pb2.ReattachExecuteRequest:
    reattach = pb2.ReattachExecuteRequest(
        session_id=request.session_id, user_context=request.user_context, operation_id=request.operation_id
    )
    if last is not None:
        reattach.last_response_id = last
    return reattach


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_384, 3_000_000])
def test_rows_beside_the_message_are_decoded_as_its_batch(size: int) -> None:
    batch = pb2.ExecutePlanResponse.ArrowBatch(row_count=7, start_offset=300, chunk_index=1, num_chunks_in_batch=2)
    message = pb2.ExecutePlanResponse(session_id="s", arrow_batch=batch)
    rows = bytes(range(256)) * (size // 256) + bytes(size % 256)
    whole = pb2.ExecutePlanResponse(session_id="s", arrow_batch=batch)
    whole.arrow_batch.data = rows
    assert pb2.ExecutePlanResponse.FromString(Response(message, rows).encode()) == whole
