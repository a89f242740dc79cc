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
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkJobInfo;
import scala.Option;

/**
 * Keeps a part of the heap free, for planning and for Spark's own threads, which do not survive
 * memory exhaustion.
 *
 * <p>Spark counts and spills the memory of its sorts and joins, but not that of single values,
 * their lists and their concatenations. So after each collection that leaves less free than the
 * reserve, one statement is ended: the youngest of those that allocated much, since the older ones
 * ran with less; all of these if even half of the reserve is used. While the heap is full no
 * statement begins. An allocation that is larger than the heap fails by itself, and only its
 * statement.
 *
 * <p>If memory was exhausted in one of Spark's own threads, Spark waits for that thread forever.
 * Then the process ends, after enough time for an orderly end, and is started again.
 */
public final class MemoryGuard {
  private static final long CHECK_EVERY_MS = 100L;
  private static final int ADMIT_TRIES = 10;
  private static final long ADMIT_EVERY_MS = 500L;
  private static final long RESERVE_MIN = 64L << 20;
  private static final int RESERVE_PART = 5;
  private static final int EXIT_ILL = 53;
  private static final int ILL_CHECKS_MAX = 30;
  private static final int MUCH_PART = 4;
  private static final String TASK_PREFIX = "Executor task launch worker";
  private static final Pattern TASK =
      Pattern.compile(TASK_PREFIX + " for task .* in stage (\\d+)\\..*");

  private static final List<MemoryPoolMXBean> POOLS = ManagementFactory.getMemoryPoolMXBeans();

  /**
   * Names of threads that jobs wait for, and that nothing replaces; {@link GatewayDriver#illness}
   * checks the scheduler's thread.
   */
  private static final Pattern VITAL =
      Pattern.compile("(task-result-getter|map-output-dispatcher|dispatcher-).*");

  private final SparkContext context;
  private final com.sun.management.ThreadMXBean threads =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final long heap = Runtime.getRuntime().maxMemory();
  private final long reserve =
      Math.min(Math.max(heap / RESERVE_PART, RESERVE_MIN), heap / MUCH_PART);
  private final long limit = heap - reserve;
  private final GatewayDriver driver;
  private final Map<String, Statement> running = new ConcurrentHashMap<>();

  /** Allocations of each running task, by the name of its thread, which has the task's id. */
  private volatile Map<String, Allocation> tasks = Map.of();

  private long handledUsage;
  private int illChecks;

  public MemoryGuard(SparkContext context, GatewayDriver driver) {
    this.context = context;
    this.driver = driver;
  }

  public void start() {
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, failure) -> {
          boolean isFatal =
              failure instanceof VirtualMachineError && VITAL.matcher(thread.getName()).matches();
          if (!isFatal) return;
          System.err.println("ERROR MemoryGuard: " + thread.getName() + " died of " + failure);
          Runtime.getRuntime().halt(EXIT_ILL);
        });
    Thread thread = new Thread(this::run, "memory-guard");
    thread.setDaemon(true);
    thread.setPriority(Thread.MAX_PRIORITY);
    thread.start();
  }

  /**
   * Admits a statement, or rejects it if the heap stays full for some seconds. Called on the
   * statement's thread.
   */
  public void admit(String id, GatewaySession session) throws InterruptedException {
    for (int tries = 0; used() > limit; tries++) {
      if (tries == ADMIT_TRIES) throw new RejectionException("memory", id);
      if (tries > 0) Thread.sleep(ADMIT_EVERY_MS);
      session.ensureLive(id);
      freeCaches();
    }
    long thread = Thread.currentThread().getId();
    running.put(id, new Statement(id, session, thread, bytesOf(thread), System.nanoTime()));
  }

  public void leave(String id) {
    running.remove(id);
  }

  /**
   * Returns when no task of a failed statement runs any more, or after some seconds. Tasks check
   * rarely if they were killed, and after one of them exhausted the memory, the others would use
   * what it freed.
   */
  public void awaitTasks(String id) throws InterruptedException {
    for (int tries = 0; tries < ADMIT_TRIES && bytesOfTasks(id) > 0; tries++)
      Thread.sleep(ADMIT_EVERY_MS);
  }

  private void run() {
    while (true) {
      try {
        Thread.sleep(CHECK_EVERY_MS);
        illChecks = driver.illness().isEmpty() ? 0 : illChecks + 1;
        if (illChecks == ILL_CHECKS_MAX) Runtime.getRuntime().halt(EXIT_ILL);
        check();
      } catch (InterruptedException ended) {
        return;
      } catch (Throwable failure) {
        continue; // the heap may be full
      }
    }
  }

  /** Returns the bytes that were used after the last collection of the old generation. */
  private static long used() {
    long sum = 0;
    for (MemoryPoolMXBean pool : POOLS) {
      MemoryUsage usage = pool.getType() == MemoryType.HEAP ? pool.getCollectionUsage() : null;
      if (usage != null) sum += usage.getUsed();
    }
    return sum;
  }

  /** G1 collects some regions only, so garbage may remain after its own collections. */
  private static void freeCaches() {
    ColumnCache.clearHere();
    System.gc();
  }

  private void check() {
    tasks = running.isEmpty() ? Map.of() : allocations();
    long usedBefore = used();
    if (usedBefore <= limit || usedBefore == handledUsage || running.isEmpty()) return;
    freeCaches();
    long used = used();
    handledUsage = used;
    if (used <= limit) return;
    Map<Statement, Long> allocated = new HashMap<>();
    for (Statement statement : running.values())
      allocated.put(
          statement,
          bytesOf(statement.thread) - statement.bytesBefore + bytesOfTasks(statement.id));
    List<Statement> large =
        allocated.keySet().stream()
            .filter(statement -> allocated.get(statement) > heap / MUCH_PART)
            .toList();
    boolean isCritical = used > limit + reserve / 2;
    if (isCritical) large.forEach(Statement::end);
    Optional<Statement> youngest = large.stream().max(Comparator.comparing(Statement::beganAt));
    youngest
        .or(() -> allocated.keySet().stream().max(Comparator.comparing(allocated::get)))
        .ifPresent(Statement::end);
  }

  private long bytesOf(long thread) {
    return threads.getThreadAllocatedBytes(thread);
  }

  /** Returns the bytes that a statement's running tasks have allocated. */
  private long bytesOfTasks(String id) {
    long sum = 0;
    for (int number : context.statusTracker().getJobIdsForGroup(id)) {
      Option<SparkJobInfo> job = context.statusTracker().getJobInfo(number);
      if (job.isEmpty()) continue;
      for (int stage : job.get().stageIds())
        for (Allocation task : tasks.values()) if (task.stage == stage) sum += task.bytes();
    }
    return sum;
  }

  private Map<String, Allocation> allocations() {
    Map<String, Allocation> found = new HashMap<>();
    for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
      if (thread == null || !thread.getThreadName().startsWith(TASK_PREFIX)) continue;
      Matcher matcher = TASK.matcher(thread.getThreadName());
      if (!matcher.matches()) continue;
      Allocation known = tasks.get(thread.getThreadName());
      long now = bytesOf(thread.getThreadId());
      long before = known == null ? now : known.before;
      int stage = Integer.parseInt(matcher.group(1));
      found.put(thread.getThreadName(), new Allocation(stage, before, now));
    }
    return found;
  }

  /** `bytesBefore` is the allocation of its thread when it began, `beganAt` in ns. */
  private record Statement(
      String id, GatewaySession session, long thread, long bytesBefore, long beganAt) {
    void end() {
      session.endForMemory(id);
    }
  }

  /** Bytes that a task's thread had allocated at the first check of the task, and at the last. */
  private record Allocation(int stage, long before, long now) {
    long bytes() {
      return now - before;
    }
  }
}
