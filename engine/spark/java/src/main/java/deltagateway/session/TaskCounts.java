package deltagateway.session;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.util.Collections;
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
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts jobs and tasks: of each running statement, and of all since the start. A statement's id is
 * the group of its jobs. Ended jobs of followed statements are collected until they are requested.
 */
final class TaskCounts extends SparkListener {
  private static final int JOBS_MAX = 1000;

  private final Map<String, Tasks> statements = new HashMap<>();
  private final Map<Integer, Tasks> stages = new HashMap<>();

  /** Ended jobs of followed statements. */
  private final Map<String, ArrayNode> followed = new HashMap<>();

  private final Map<Integer, Job> jobs = new HashMap<>();
  private final Map<Object, Job> jobOfStage = new HashMap<>();
  private final Outcomes allJobs = new Outcomes();
  private final Outcomes allTasks = new Outcomes();

  /** Number of jobs or tasks since the start. */
  private static final class Outcomes {
    long running, succeeded, failed;

    void start() {
      running++;
    }

    void end(boolean hasSucceeded) {
      running--;
      if (hasSucceeded) succeeded++;
      else failed++;
    }

    void put(String prefix, ObjectNode statistics) {
      statistics.put(prefix + "_running", running);
      statistics.put(prefix + "_succeeded", succeeded);
      statistics.put(prefix + "_failed", failed);
    }
  }

  /** Tasks of a statement in all stages that were submitted so far. */
  private static final class Tasks {
    int total, running, done, failed;
  }

  /** Job of a followed statement. */
  private static final class Job {
    final String statement;
    final long beganMs;
    final int stages;
    int tasks, failedTasks;

    Job(String statement, SparkListenerJobStart event) {
      this.statement = statement;
      this.beganMs = event.time();
      this.stages = event.stageIds().size();
    }

    ObjectNode json(SparkListenerJobEnd event) {
      ObjectNode node = StatementRequest.JSON.createObjectNode();
      node.put("id", event.jobId()).put("began_ms", beganMs).put("ended_ms", event.time());
      node.put("stages", stages).put("tasks", tasks).put("failed_tasks", failedTasks);
      return node.put("has_succeeded", hasSucceeded(event));
    }
  }

  /** Returns the id of the statement of a job or stage; null if it belongs to none. */
  static String statementOf(Properties properties) {
    return properties == null ? null : properties.getProperty("spark.jobGroup.id");
  }

  private static boolean hasSucceeded(SparkListenerJobEnd event) {
    return event.jobResult() == JobSucceeded$.MODULE$;
  }

  synchronized void begin(String id) {
    statements.computeIfAbsent(id, key -> new Tasks());
  }

  synchronized void end(String id) {
    statements.remove(id);
  }

  synchronized boolean isRunning(String id) {
    return statements.containsKey(id);
  }

  /** Returns the tasks of those of the statements that run, by their ids. */
  synchronized ObjectNode tasksOf(String... ids) {
    ObjectNode counts = StatementRequest.JSON.createObjectNode();
    for (String id : ids) {
      Tasks tasks = statements.get(id);
      if (tasks == null) continue;
      ObjectNode node = counts.putObject(id);
      node.put("total", tasks.total).put("running", tasks.running);
      node.put("done", tasks.done).put("failed", tasks.failed);
    }
    return counts;
  }

  /** Adds the numbers of jobs and tasks since the start. */
  synchronized void putTotals(ObjectNode statistics) {
    allJobs.put("jobs", statistics);
    allTasks.put("tasks", statistics);
  }

  synchronized void follow(String id) {
    followed.computeIfAbsent(id, key -> StatementRequest.JSON.createArrayNode());
  }

  /** Returns the ended jobs of a followed statement, which is no longer followed. */
  synchronized ArrayNode jobs(String id) {
    ArrayNode ended = followed.remove(id);
    return ended == null ? StatementRequest.JSON.createArrayNode() : ended;
  }

  @Override
  public synchronized void onJobStart(SparkListenerJobStart event) {
    allJobs.start();
    String id = statementOf(event.properties());
    if (id == null || !followed.containsKey(id)) return;
    Job job = new Job(id, event);
    jobs.put(event.jobId(), job);
    for (Object stage : CollectionConverters.asJava(event.stageIds())) jobOfStage.put(stage, job);
  }

  @Override
  public synchronized void onJobEnd(SparkListenerJobEnd event) {
    allJobs.end(hasSucceeded(event));
    Job job = jobs.remove(event.jobId());
    if (job == null) return;
    jobOfStage.values().removeAll(Collections.singleton(job));
    ArrayNode ended = followed.get(job.statement);
    if (ended != null && ended.size() < JOBS_MAX) ended.add(job.json(event));
  }

  @Override
  public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
    Tasks tasks = statements.get(statementOf(event.properties()));
    if (tasks == null) return;
    stages.put(event.stageInfo().stageId(), tasks);
    tasks.total += event.stageInfo().numTasks();
  }

  @Override
  public synchronized void onTaskStart(SparkListenerTaskStart event) {
    allTasks.start();
    Tasks tasks = stages.get(event.stageId());
    if (tasks != null) tasks.running++;
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
    boolean hasSucceeded = event.taskInfo().successful();
    allTasks.end(hasSucceeded);
    Job job = jobOfStage.get(event.stageId());
    if (job != null) {
      job.tasks++;
      if (!hasSucceeded) job.failedTasks++;
    }
    Tasks tasks = stages.get(event.stageId());
    if (tasks == null) return;
    tasks.running--;
    if (hasSucceeded) tasks.done++;
    else tasks.failed++;
  }

  @Override
  public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
    stages.remove(event.stageInfo().stageId());
  }
}
