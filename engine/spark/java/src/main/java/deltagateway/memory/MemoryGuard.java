package deltagateway.memory;

import deltagateway.cache.ColumnCache;
import deltagateway.protocol.RejectionException;
import deltagateway.session.GatewayDriver;
import deltagateway.session.GatewaySession;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadInfo;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkJobInfo;

/**
 * Keeps a part of the heap free, for planning and for Spark's own threads, which do not survive
 * without.
 *
 * <p>Spark counts what its sorts and joins hold and spills it, but not what single values, their
 * lists and their concatenations take. So after each collection that leaves less free than the
 * reserve, one statement is ended: the youngest of those that allocated much, since the older ones
 * have lived with less; all of these where even half of the reserve is used. While the heap is full
 * no statement begins. An allocation that is larger than the heap fails by itself, and only its
 * statement.
 *
 * <p>Where memory ran out all the same, under one of Spark's own threads, Spark waits for that
 * thread for ever. Then the process ends, in a while that is long enough for an end in good order,
 * and another one is started.
 */
public final class MemoryGuard implements Runnable {
  private static final long LOOK_EVERY_MS = 100L;
  private static final int ADMIT_TRIES = 10;
  private static final long ADMIT_EVERY_MS = 500L;
  private static final long RESERVE_MIN = 64L << 20;
  private static final int RESERVE_PART = 5;
  private static final int EXIT_ILL = 53;
  private static final int ILL_LOOKS = 30;
  private static final int MUCH_PART = 4;
  private static final String TASK_PREFIX = "Executor task launch worker";
  private static final Pattern TASK =
      Pattern.compile(TASK_PREFIX + " for task .* in stage (\\d+)\\..*");

  private static final List<MemoryPoolMXBean> POOLS = ManagementFactory.getMemoryPoolMXBeans();

  /**
   * Threads that jobs wait for, and that nothing replaces; the scheduler's own is looked for
   * besides.
   */
  private static final Pattern VITAL =
      Pattern.compile("(task-result-getter|map-output-dispatcher|dispatcher-).*");

  private final SparkContext context;
  private final com.sun.management.ThreadMXBean threads =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final long heap = Runtime.getRuntime().maxMemory();
  private final long reserve =
      Math.min(Math.max(heap / RESERVE_PART, RESERVE_MIN), heap / MUCH_PART);
  private final long room = heap - reserve;
  private final GatewayDriver driver;
  private final Map<String, Begun> running = new ConcurrentHashMap<>();
  private volatile Map<String, Task> allocated = new HashMap<>();
  private long actedOn;
  private int ill;

  public MemoryGuard(SparkContext context, GatewayDriver driver) {
    this.context = context;
    this.driver = driver;
  }

  public void start() {
    Thread.setDefaultUncaughtExceptionHandler(
        new Thread.UncaughtExceptionHandler() {
          public void uncaughtException(Thread thread, Throwable failure) {
            if (!(failure instanceof VirtualMachineError)
                || !VITAL.matcher(thread.getName()).matches()) return;
            System.err.println("ERROR MemoryGuard: " + thread.getName() + " died of " + failure);
            Runtime.getRuntime().halt(EXIT_ILL);
          }
        });
    Thread thread = new Thread(this, "memory-guard");
    thread.setDaemon(true);
    thread.setPriority(Thread.MAX_PRIORITY);
    thread.start();
  }

  /**
   * Waits shortly for a full heap, then refuses. To be called on the thread of the statement, which
   * begins.
   */
  public void admit(String id, GatewaySession session) throws InterruptedException {
    for (int tries = 0; used() > room; tries++) {
      if (tries == ADMIT_TRIES) throw new RejectionException("memory", id);
      if (tries > 0) Thread.sleep(ADMIT_EVERY_MS);
      session.ensureLive(id);
      ColumnCache.clearHere();
      System.gc();
    }
    running.put(
        id,
        new Begun(
            id, session, Thread.currentThread().getId(), bytesOf(Thread.currentThread().getId())));
  }

  public void leave(String id) {
    running.remove(id);
  }

  /**
   * Returns when no task of a failed statement runs any more, or after a while. Tasks look whether
   * they were killed once in many rows, and where one of them ran out of memory the others take
   * what it left, from statements that follow.
   */
  public void awaitTasks(String id) throws InterruptedException {
    for (int tries = 0; tries < ADMIT_TRIES && tasksOf(id) > 0; tries++)
      Thread.sleep(ADMIT_EVERY_MS);
  }

  public void run() {
    while (true) {
      try {
        Thread.sleep(LOOK_EVERY_MS);
        ill = driver.illness().length() > 0 ? ill + 1 : 0;
        if (ill == ILL_LOOKS) Runtime.getRuntime().halt(EXIT_ILL);
        look();
      } catch (InterruptedException ended) {
        return;
      } catch (Throwable failure) {
        continue; // the heap may be full
      }
    }
  }

  /**
   * What was in use when the last collection of the old generation ended: that changes with each
   * one only.
   */
  private static long used() {
    long sum = 0;
    for (int i = 0; i < POOLS.size(); i++) {
      MemoryPoolMXBean pool = POOLS.get(i);
      MemoryUsage usage = pool.getType() == MemoryType.HEAP ? pool.getCollectionUsage() : null;
      if (usage != null) sum += usage.getUsed();
    }
    return sum;
  }

  private void look() {
    allocated = running.isEmpty() ? new HashMap<>() : allocations();
    long used = used();
    if (used <= room || used == actedOn || running.isEmpty()) return;
    ColumnCache.clearHere();
    System.gc(); // a collection of G1 takes some regions only: what it left may be garbage
    used = used();
    actedOn = used;
    if (used <= room) return;
    boolean critical = used > room + reserve / 2;
    Begun most = null;
    Begun youngest = null;
    for (Iterator<Begun> all = running.values().iterator(); all.hasNext(); ) {
      Begun begun = all.next();
      begun.allocated = bytesOf(begun.thread) - begun.bytes + tasksOf(begun.id);
      if (most == null || begun.allocated > most.allocated) most = begun;
      if (begun.allocated <= heap / MUCH_PART) continue;
      if (critical) begun.session.endForMemory(begun.id);
      if (youngest == null || begun.at > youngest.at) youngest = begun;
    }
    Begun chosen = youngest == null ? most : youngest;
    if (chosen != null) chosen.session.endForMemory(chosen.id);
  }

  private long bytesOf(long thread) {
    return threads.getThreadAllocatedBytes(thread);
  }

  /** What the tasks that now run for a statement have allocated. */
  private long tasksOf(String id) {
    long sum = 0;
    int[] jobs = context.statusTracker().getJobIdsForGroup(id);
    for (int i = 0; i < jobs.length; i++) {
      scala.Option<SparkJobInfo> job = context.statusTracker().getJobInfo(jobs[i]);
      int[] stages = job.isDefined() ? job.get().stageIds() : new int[0];
      for (int j = 0; j < stages.length; j++) {
        for (Iterator<Task> tasks = allocated.values().iterator(); tasks.hasNext(); ) {
          Task task = tasks.next();
          if (task.stage == stages[j]) sum += task.now - task.before;
        }
      }
    }
    return sum;
  }

  /** Of each task that runs, by the name of its thread, which changes with the task. */
  private Map<String, Task> allocations() {
    Map<String, Task> found = new HashMap<>();
    long[] ids = threads.getAllThreadIds();
    ThreadInfo[] infos = threads.getThreadInfo(ids);
    for (int i = 0; i < ids.length; i++) {
      if (infos[i] == null || !infos[i].getThreadName().startsWith(TASK_PREFIX)) continue;
      Matcher matcher = TASK.matcher(infos[i].getThreadName());
      if (!matcher.matches()) continue;
      Task known = allocated.get(infos[i].getThreadName());
      long now = bytesOf(ids[i]);
      long before = known == null ? now : known.before;
      found.put(
          infos[i].getThreadName(), new Task(Integer.parseInt(matcher.group(1)), before, now));
    }
    return found;
  }

  private static final class Begun {
    final String id;
    final GatewaySession session;
    final long thread;
    final long bytes;
    final long at = System.nanoTime();
    long allocated;

    Begun(String id, GatewaySession session, long thread, long bytes) {
      this.id = id;
      this.session = session;
      this.thread = thread;
      this.bytes = bytes;
    }
  }

  private static final class Task {
    final int stage;
    final long before;
    final long now;

    Task(int stage, long before, long now) {
      this.stage = stage;
      this.before = before;
      this.now = now;
    }
  }
}
