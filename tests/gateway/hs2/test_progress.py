"""A statement's progress table, in beeline's form."""

from __future__ import annotations

import pytest

from engine.runtime.profile import Profile, TaskCounts
from engine.tables.scan import TableRead
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.hs2.progress import progress_update
from tests.gateway.hs2.wire import execute, settle

READ = TableRead(
    label="shop.orders", version=3, files_total=100, bytes_total=1000, files_partition=40, files=7, bytes=70
)
COLUMNS = 9


@pytest.mark.parametrize(
    ("tasks", "ended", "state", "numbers", "share"),
    [
        (TaskCounts(), False, "PLANNING", "0 0 0 0 0 0", 0.0),
        (TaskCounts(10, 2, 5, 1), False, "RUNNING", "10 5 2 3 1 0", 0.5),
        (TaskCounts(10, 0, 10), False, "RUNNING", "10 10 0 0 0 0", 0.99),
        (TaskCounts(10, 3, 8), False, "RUNNING", "10 8 3 0 0 0", 0.8),
        (TaskCounts(10, 0, 10), True, "ENDED", "10 10 0 0 0 0", 1.0),
    ],
)
def test_tables_and_tasks(tasks: TaskCounts, ended: bool, state: str, numbers: str, share: float) -> None:
    profile = Profile()
    profile.add_read(READ)
    profile.count_tasks(tasks)
    update = progress_update(profile, 5, has_ended=ended)
    assert [len(row) for row in (update.headerNames, *update.rows)] == [COLUMNS] * 3
    assert update.rows[0] == ["shop.orders", "files", "PRUNED", "100", "7", "0", "0", "0", "0"]
    assert update.rows[1] == ["Spark", "tasks", state, *numbers.split()]
    assert (update.progressedPercentage, update.startTime) == (share, 5)


def test_the_tasks_of_a_script_are_those_of_its_statement_that_runs() -> None:
    script = Profile()
    part = script.begin_part()
    part.count_tasks(TaskCounts(10, 2, 5))
    update = progress_update(script, 5, has_ended=False)
    assert update.rows == [["Spark", "tasks", "RUNNING", "10", "5", "2", "3", "0", "0"]]
    assert (update.progressedPercentage, update.footerSummary) == (0.5, "TASKS: 5/10")
    script.end_part(part)
    assert progress_update(script, 5, has_ended=False).rows[0][2] == "PLANNING"


def test_progress_on_request(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "SLEEP 0.1", runAsync=True)
    assert settle(client, operation).progressUpdateResponse is None
    answer = client.GetOperationStatus(t.TGetOperationStatusReq(operation, getProgressUpdate=True))
    assert answer.progressUpdateResponse.status == t.TJobExecutionStatus.COMPLETE
