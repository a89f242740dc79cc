"""What is told of a run: what was read, for EXPLAIN, and the log with all else."""

from __future__ import annotations

from engine.runtime.profile import Profile, Stage, StageTime, TaskCounts


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
    profile.enter(Stage.COMMIT)  # of a thread that did not notice the end
    assert profile.stage is None and profile.stages == spent
