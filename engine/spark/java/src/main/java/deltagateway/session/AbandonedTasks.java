package deltagateway.session;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/**
 * Finds tasks that occupy their slots although their statement has ended. Spark has killed them,
 * and they have not reached a check yet ({@link InterruptibleTasks}).
 *
 * <p>A task that waits, for example for memory of other tasks, is interrupted after some calls. A
 * thread that runs never is: it may be in the middle of a read, and an interrupt would close the
 * channel.
 */
final class AbandonedTasks {
  private static final int INTERRUPT_AFTER = 5;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final SparkContext context;
  private final TaskCounts statements;

  /** Number of calls that found a task, by its id. */
  private Map<Object, Integer> found = new HashMap<>();

  AbandonedTasks(SparkContext context, TaskCounts statements) {
    this.context = context;
    this.statements = statements;
  }

  /** Returns the ids of the statements, separated by blanks; called about once a second. */
  synchronized String statements() {
    Map<Object, Integer> foundNow = new HashMap<>();
    Set<String> ids = new TreeSet<>();
    var tasks = ((TaskSchedulerImpl) context.taskScheduler()).taskIdToTaskSetManager();
    tasks.forEach(
        (task, manager) -> {
          String id = TaskCounts.statementOf(manager.taskSet().properties());
          if (id == null || statements.isRunning(id)) return;
          ids.add(id);
          int times = 1 + found.getOrDefault(task, 0);
          foundNow.put(task, times);
          if (times >= INTERRUPT_AFTER) interruptIfWaiting((Long) task);
        });
    found = foundNow;
    return String.join(" ", ids);
  }

  private void interruptIfWaiting(long task) {
    for (ThreadInfo thread : THREADS.getThreadInfo(THREADS.getAllThreadIds())) {
      if (thread == null || !thread.getThreadName().endsWith("(TID " + task + ")")) continue;
      Thread.State state = thread.getThreadState();
      boolean waits = state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
      if (waits) context.killTaskAttempt(task, true, "its statement has ended");
    }
  }
}
