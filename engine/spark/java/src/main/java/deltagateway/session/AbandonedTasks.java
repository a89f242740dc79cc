package deltagateway.session;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSetManager;

/**
 * Finds tasks that hold their slots although their statement has ended. Spark has killed them, and
 * they have not reached a check yet ({@link InterruptibleTasks}).
 *
 * <p>One that waits, for memory that tasks of others hold say, is interrupted after some looks. A
 * thread that runs never is: it may be in the middle of a read, and an interrupt closes the channel
 * of that for good.
 */
public final class AbandonedTasks {
  private static final int INTERRUPT_AFTER = 5;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final SparkContext context;
  private final TaskCounts statements;

  /** Id of the task -> how often it was found. */
  private Map<Object, Integer> found = new HashMap<>();

  AbandonedTasks(SparkContext context, TaskCounts statements) {
    this.context = context;
    this.statements = statements;
  }

  /** The ids of the statements, separated by blanks; to be called about once a second. */
  synchronized String statements() {
    StringBuilder ids = new StringBuilder();
    Map<Object, Integer> again = new HashMap<>();
    Set<String> left = new TreeSet<>();
    Map<Object, TaskSetManager> tasks =
        ((TaskSchedulerImpl) context.taskScheduler()).taskIdToTaskSetManager();
    for (Iterator all = tasks.entrySet().iterator(); all.hasNext(); ) {
      Map.Entry task = (Map.Entry) all.next();
      Properties properties = ((TaskSetManager) task.getValue()).taskSet().properties();
      String id = properties == null ? null : properties.getProperty("spark.jobGroup.id");
      if (id == null || statements.isRunning(id)) continue;
      if (left.add(id)) ids.append(ids.length() == 0 ? "" : " ").append(id);
      Integer known = found.get(task.getKey());
      int looks = known == null ? 1 : known.intValue() + 1;
      again.put(task.getKey(), Integer.valueOf(looks));
      if (looks >= INTERRUPT_AFTER) endWaiting(((Long) task.getKey()).longValue());
    }
    found = again;
    return ids.toString();
  }

  private void endWaiting(long task) {
    ThreadInfo[] infos = THREADS.getThreadInfo(THREADS.getAllThreadIds());
    for (int i = 0; i < infos.length; i++) {
      if (infos[i] == null || !infos[i].getThreadName().endsWith("(TID " + task + ")")) continue;
      Thread.State state = infos[i].getThreadState();
      boolean waits = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
      if (waits) context.killTaskAttempt(task, true, "its statement has ended");
    }
  }
}
