package deltagateway;

import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/** Counts the tasks of each statement that runs, for those who look on; its jobs are in a group of its id. */
final class TaskCounts extends SparkListener {
  private static final int TOTAL = 0, RUNNING = 1, DONE = 2, FAILED = 3, NUMBERS = 4;

  private final Map statements = new HashMap();
  private final Map stages = new HashMap();

  synchronized void begin(String id) {
    if (!statements.containsKey(id)) statements.put(id, new int[NUMBERS]);
  }

  synchronized void end(String id) {
    statements.remove(id);
  }

  /** Lines of a statement's id and its tasks: all there are so far, running, done, failed. */
  synchronized String lines(String ids) {
    StringBuilder lines = new StringBuilder();
    String[] asked = ids.split(" ");
    for (int i = 0; i < asked.length; i++) {
      int[] counts = (int[]) statements.get(asked[i]);
      if (counts == null) continue;
      lines.append(asked[i]);
      for (int number = 0; number < NUMBERS; number++) lines.append(' ').append(counts[number]);
      lines.append('\n');
    }
    return lines.toString();
  }

  public synchronized void onStageSubmitted(SparkListenerStageSubmitted event) {
    Properties properties = event.properties();
    int[] counts = properties == null ? null : (int[]) statements.get(properties.getProperty("spark.jobGroup.id"));
    if (counts == null) return;
    stages.put(Integer.valueOf(event.stageInfo().stageId()), counts);
    counts[TOTAL] += event.stageInfo().numTasks();
  }

  public synchronized void onTaskStart(SparkListenerTaskStart event) {
    int[] counts = (int[]) stages.get(Integer.valueOf(event.stageId()));
    if (counts != null) counts[RUNNING]++;
  }

  public synchronized void onTaskEnd(SparkListenerTaskEnd event) {
    int[] counts = (int[]) stages.get(Integer.valueOf(event.stageId()));
    if (counts == null) return;
    counts[RUNNING]--;
    counts[event.taskInfo().successful() ? DONE : FAILED]++;
  }

  public synchronized void onStageCompleted(SparkListenerStageCompleted event) {
    stages.remove(Integer.valueOf(event.stageInfo().stageId()));
  }
}
