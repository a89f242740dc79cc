"""A run's profile: reads, for EXPLAIN, and the log with all other entries."""

from __future__ import annotations

import time

from engine.runtime.profile import PART_LINES_MAX, SPANS_MAX, Profile, Stage, StageTime, TaskCounts
from engine.tables.scan import TableRead


def test_the_log_has_what_was_read_and_how_far_the_run_came() -> None:
    profile = Profile()
    profile.log("planned")
    profile.add_note("t: 1 of 2 files")
    for _ in range(2):  # the same counts are no other line
        profile.count_tasks(TaskCounts(total=4, running=2, done=1, failed=1))
    profile.log("finished")
    assert profile.lines == ("t: 1 of 2 files",)
    tasks = "Spark: 1 of 4 tasks done, 2 running, 1 failed"
    assert profile.log_lines == ("planned", "t: 1 of 2 files", tasks, "finished")
    assert profile.tasks.done == 1


def test_time_is_counted_by_stage_until_the_end() -> None:
    now = 0.0
    profile = Profile(clock=lambda: now)
    assert profile.stage is None and profile.stages == ()
    for stage, seconds in ((Stage.QUEUE, 1.0), (Stage.BIND, 2.0), (Stage.EXECUTE, 3.0), (Stage.BIND, 4.0)):
        profile.enter(stage)
        now += seconds
    assert profile.stage is Stage.BIND
    spent = (StageTime(Stage.QUEUE, 1000), StageTime(Stage.BIND, 6000), StageTime(Stage.EXECUTE, 3000))
    assert profile.stages == spent
    profile.enter(None)
    now += 5.0
    profile.enter(Stage.COMMIT)  # a thread that did not notice the end
    assert profile.stage is None and profile.stages == spent


def test_profile_times_are_wall_clock() -> None:
    now = 100.0
    profile = Profile(clock=lambda: now)
    for stage in (Stage.PLAN, Stage.EXECUTE, Stage.PLAN, None):
        profile.enter(stage)
        now += 0.5
    spans = profile.spans
    assert [span.stage for span in spans] == [Stage.PLAN, Stage.EXECUTE, Stage.PLAN]
    assert [span.ended_ns - span.began_ns for span in spans] == [500_000_000] * 3
    assert abs(spans[0].began_ns - time.time_ns()) < 3600 * 10**9
    for _ in range(SPANS_MAX * 2):
        profile.enter(Stage.BIND)
    assert len(profile.spans) <= SPANS_MAX


def test_a_script_has_what_its_statements_read_and_where_they_were() -> None:
    script = Profile()
    read = TableRead(label="t", version=1, files_total=2, bytes_total=20, files_partition=2, files=1, bytes=10)
    script.enter(Stage.EXECUTE)
    for _ in range(2):
        part = script.begin_part()
        part.enter(Stage.BIND)
        part.add_read(read)
        part.count_tasks(TaskCounts(total=2, running=2))
        assert script.now is part and script.now.tasks.total == 2 and script.reads[-1] == read
        script.end_part(part)
        assert script.now is script
    hidden = script.begin_part()
    hidden.hide_metrics()
    hidden.add_read(read)
    script.end_part(hidden)
    lines = (str(read), "Spark: 0 of 2 tasks done, 2 running")
    assert script.reads == (read, read) and script.parts == 3
    assert script.log_lines == ("statement 1", *lines, "statement 2", *lines, "statement 3")
    assert [span.stage for span in script.part_spans] == [Stage.BIND, Stage.BIND]
    assert script.stage is Stage.EXECUTE


def test_the_log_of_a_long_script_is_bounded() -> None:
    script = Profile()
    for number in range(PART_LINES_MAX * 2):
        part = script.begin_part()
        part.log(f"planned {number}")
        script.end_part(part)
    assert len(script.log_lines) <= PART_LINES_MAX + 1 and script.parts == PART_LINES_MAX * 2
