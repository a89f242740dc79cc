package deltagateway.session;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.scheduler.JobSucceeded$;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;
import scala.collection.Iterator;

/**
 * Counts jobs and tasks: of each statement that runs, for those who look on, and of all since the
 * start. The jobs of a statement are in a group of its id. Of statements that are followed, each
 * job is kept until it is asked for.
 */
public final class TaskCounts extends SparkListener {
  private static final int TOTAL = 0, RUNNING = 1, DONE = 2, FAILED = 3, NUMBERS = 4;
  private static final int JOB_LINES_MAX = 64 << 10;

  private final Map<String, int[]> statements = new HashMap<>();
  private final Map<Integer, int[]> stages = new HashMap<>();

  /** Statement -> lines of its jobs that ended. */
  private final Map<String, StringBuilder> followed = new HashMap<>();

  private final Map<Integer, Job> jobs = new HashMap<>();
  private final Map<Object, Integer> jobOfStage = new HashMap<>();
  private long jobsRunning, jobsDone, jobsFailed, tasksRunning, tasksDone, tasksFailed;

  /** A job of a followed statement. */
  private static final class Job {
    final String statement;
    final long began;
    final int stages;
    int tasks, failed;

    Job(String statement, long began, int stages) {
      this.statement = statement;
      this.began = began;
      this.stages = stages;
    }
  }

  synchronized void begin(String id) {
    if (!statements.containsKey(id)) statements.put(id, new int[NUMBERS]);
  }

  synchronized void end(String id) {
    statements.remove(id);
  }

  synchronized boolean isRunning(String id) {
    return statements.containsKey(id);
  }

  /** Lines of a statement's id and its tasks: all there are so far, running, done, failed. */
  synchronized String lines(String ids) {
    StringBuilder lines = new StringBuilder();
    String[] asked = ids.split(" ");
    for (int i = 0; i < asked.length; i++) {
      int[] counts = statements.get(asked[i]);
      if (counts == null) continue;
      lines.append(asked[i]);
      for (int number = 0; number < NUMBERS; number++) lines.append(' ').append(counts[number]);
      lines.append('\n');
    }
    return lines.toString();
  }

  /** Since the start: jobs running, succeeded, failed; tasks running, succeeded, failed. */
  synchronized String totals() {
    return jobsRunning
        + " "
        + jobsDone
        + " "
        + jobsFailed
        + " "
        + tasksRunning
        + " "
        + tasksDone
        + " "
        + tasksFailed;
  }

  synchronized void follow(String id) {
    if (!followed.containsKey(id)) followed.put(id, new StringBuilder());
  }

  /**
   * Lines of the jobs that ended since the statement is followed, which it is no longer: id, begin
   * and end in ms since the epoch, stages, tasks, failed tasks, 1 for success.
   */
  synchronized String jobs(String id) {
    StringBuilder lines = followed.remove(id);
    return lines == null ? "" : lines.toString();
  }

  public synchronized void onJobStart(SparkListenerJobStart event) {
    jobsRunning++;
    Properties properties = event.properties();
    String id = properties == null ? null : properties.getProperty("spark.jobGroup.id");
    if (id == null || !followed.containsKey(id)) return;
    Integer number = Integer.valueOf(event.jobId());
    jobs.put(number, new Job(id, event.time(), event.stageIds().size()));
    Iterator<Object> stageIds = event.stageIds().iterator();
    while (stageIds.hasNext()) jobOfStage.put(stageIds.next(), number);
  }

  public synchronized void onJobEnd(SparkListenerJobEnd event) {
    jobsRunning--;
    boolean succeeded = event.jobResult() == JobSucceeded$.MODULE$;
    if (succeeded) jobsDone++;
    else jobsFailed++;
    Integer number = Integer.valueOf(event.jobId());
    Job job = jobs.remove(number);
    if (job == null) return;
    jobOfStage.values().removeAll(java.util.Collections.singleton(number));
    StringBuilder lines = followed.get(job.statement);
    if (lines == null || lines.length() > JOB_LINES_MAX) return;
    lines.append(number).append(' ').append(job.began).append(' ').append(event.time()).append(' ');
    lines.append(job.stages).append(' ').append(job.tasks).append(' ').append(job.failed);
    lines.append(succeeded ? " 1\n" : " 0\n");
  }

  public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
    Properties properties = event.properties();
    int[] counts =
        properties == null ? null : statements.get(properties.getProperty("spark.jobGroup.id"));
    if (counts == null) return;
    stages.put(Integer.valueOf(event.stageInfo().stageId()), counts);
    counts[TOTAL] += event.stageInfo().numTasks();
  }

  public synchronized void onTaskStart(SparkListenerTaskStart event) {
    tasksRunning++;
    int[] counts = stages.get(Integer.valueOf(event.stageId()));
    if (counts != null) counts[RUNNING]++;
  }

  public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
    boolean succeeded = event.taskInfo().successful();
    tasksRunning--;
    if (succeeded) tasksDone++;
    else tasksFailed++;
    Job job = jobs.get(jobOfStage.get(Integer.valueOf(event.stageId())));
    if (job != null) {
      job.tasks++;
      if (!succeeded) job.failed++;
    }
    int[] counts = stages.get(Integer.valueOf(event.stageId()));
    if (counts == null) return;
    counts[RUNNING]--;
    counts[succeeded ? DONE : FAILED]++;
  }

  public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
    stages.remove(Integer.valueOf(event.stageInfo().stageId()));
  }
}
