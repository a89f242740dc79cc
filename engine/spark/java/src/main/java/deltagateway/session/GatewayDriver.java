package deltagateway.session;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.aggregate.VectorizedAggregates;
import deltagateway.analysis.PostgresFunctions;
import deltagateway.cache.ColumnCache;
import deltagateway.cache.PlanCache;
import deltagateway.guard.PlanGuard;
import deltagateway.guard.TypeArguments;
import deltagateway.memory.MemoryGuard;
import deltagateway.optimizer.DynamicFilePruning;
import deltagateway.optimizer.FullSamples;
import deltagateway.optimizer.LargeInLists;
import deltagateway.optimizer.MixedPartitionFilters;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.optimizer.ScanStatistics;
import deltagateway.protocol.ImmediateResponses;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.Schema;
import deltagateway.protocol.StatementRequest;
import deltagateway.result.ResultReceiver;
import deltagateway.scan.credentials.VendedCredentials;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.classic.SparkSession;
import py4j.GatewayServer;

/** Driver of the process's Spark, which opens a session for each client. */
public final class GatewayDriver {
  private static final long EVENTS_MS = 1000L;

  private final SparkSession root;
  private final PlanGuard guard;
  private final PythonCallbacks callbacks;
  private final MemoryGuard memory;
  private final TaskCounts tasks = new TaskCounts();
  private final ExecutedPlans executed = new ExecutedPlans();
  private final PlanCache plans = new PlanCache();
  private final AbandonedTasks abandoned;
  private final Thread scheduler;

  /**
   * `functions` and `tableFunctions` are the names that may be called, `expressions` the classes
   * that plans may have, each separated by blanks; Python answers callbacks at `port`. `server`
   * receives Python's calls.
   */
  public GatewayDriver(
      SparkSession root,
      GatewayServer server,
      String functions,
      String tableFunctions,
      String expressions,
      int port,
      String password) {
    this.root = root;
    OptimizerRule.register();
    TypeArguments.register();
    StartupSettings.ensureValid(root.sparkContext().getConf());
    ImmediateResponses.enable(server);
    this.callbacks = new PythonCallbacks(port, password);
    VendedCredentials.answeredBy(callbacks);
    StageIds.makeEquallyLong(root.sparkContext());
    this.guard = new PlanGuard(names(functions), names(tableFunctions), names(expressions));
    registerRules(root.extensions());
    this.memory = new MemoryGuard(root.sparkContext(), this);
    this.abandoned = new AbandonedTasks(root.sparkContext(), tasks);
    this.scheduler = thread("dag-scheduler-event-loop");
    root.sparkContext().addSparkListener(tasks);
    root.sparkContext().addSparkListener(executed);
    if (!root.sparkContext().isLocal()) ResultReceiver.start(root.sparkContext());
    ParentProcessMonitor.start();
    memory.start();
  }

  /** Registers the rules that Spark applies; see {@link OptimizerRule} for all. */
  public static void registerRules(SparkSessionExtensions extensions) {
    PostgresFunctions.register(extensions);
    extensions.injectHintResolutionRule(session -> new LargeInLists.Hide());
    extensions.injectResolutionRule(session -> new LargeInLists.Restore());
    extensions.injectResolutionRule(session -> new CancellationRule());
    extensions.injectOptimizerRule(session -> new CancellationRule());
    extensions.injectPreCBORule(session -> new ScanStatistics());
    extensions.injectPlannerStrategy(session -> new MixedPartitionFilters());
    extensions.injectPlannerStrategy(session -> new FullSamples());
    extensions.injectQueryStageOptimizerRule(
        session -> new DynamicFilePruning((SparkSession) session));
    extensions.injectColumnar(session -> new InterruptibleTasks());
    // Spark applies the last rule first, and the checks are put above what is replaced here.
    extensions.injectColumnar(session -> new VectorizedAggregates());
  }

  /** Returns the registry of rules as JSON; see {@link OptimizerRule#json}. */
  public String optimizerRules() {
    return OptimizerRule.json();
  }

  /** Returns a thread by its name; null if a later Spark names it differently. */
  private static Thread thread(String name) {
    Thread[] all = new Thread[Thread.activeCount() * 2 + 16];
    int count = Thread.enumerate(all);
    return Arrays.stream(all, 0, count)
        .filter(thread -> thread.getName().equals(name))
        .findFirst()
        .orElse(null);
  }

  /**
   * Returns the reason if Spark cannot be used any more, or an empty text. Its scheduler's thread
   * dies of errors such as a full heap.
   */
  public String illness() {
    if (root.sparkContext().isStopped()) return "its context stopped";
    return scheduler != null && !scheduler.isAlive() ? "its scheduler died" : "";
  }

  /** Returns {@link AbandonedTasks#statements}. */
  public String leftStatements() {
    return abandoned.statements();
  }

  /**
   * Returns a JSON object with {@link Schema#TASK_COUNTS} of those of the statements that run;
   * `ids` are separated by blanks.
   */
  public String taskCounts(String ids) {
    return tasks.tasksOf(ids.split(" ")).toString();
  }

  /** Returns {@link Schema#JVM_STATISTICS} as JSON. */
  public String jvmStatistics() {
    ObjectNode statistics = StatementRequest.JSON.createObjectNode();
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    statistics.put("heap_used_bytes", heap.getUsed());
    statistics.put("heap_committed_bytes", heap.getCommitted());
    statistics.put("heap_max_bytes", heap.getMax());
    statistics.put("column_cache_bytes", ColumnCache.bytesHere());
    statistics.put(
        "collecting_ms",
        ManagementFactory.getGarbageCollectorMXBeans().stream()
            .mapToLong(collector -> Math.max(0, collector.getCollectionTime()))
            .sum());
    tasks.putTotals(statistics);
    return statistics.toString();
  }

  /** Collects the statement's jobs from now on, until {@link #jobs} is called. */
  public void follow(String id) {
    tasks.follow(id);
  }

  /** Returns a JSON array of {@link Schema#JOB}. */
  public String jobs(String id) throws InterruptedException {
    awaitEvents();
    return tasks.jobs(id).toString();
  }

  /** Returns {@link ExecutedPlans#json}. */
  public String executedPlans(String id) throws InterruptedException {
    awaitEvents();
    return executed.json(root.sharedState().statusStore(), id, plans.repeatedBy(id));
  }

  /** Waits for events that Spark has not delivered yet, for a limited time. */
  private void awaitEvents() throws InterruptedException {
    try {
      root.sparkContext().listenerBus().waitUntilEmpty(EVENTS_MS);
    } catch (TimeoutException late) {
      return; // the events so far have to do
    }
  }

  private static Set<String> names(String text) {
    return Set.of(text.split(" "));
  }

  public GatewaySession openSession() {
    return new GatewaySession(
        root.newSession(), root.sessionState().conf(), guard, callbacks, memory, tasks, plans);
  }

  /** Returns JSON about Spark's functions and keywords. */
  public String functionInfos() throws JsonProcessingException {
    return FunctionDescriptions.json();
  }

  /** Loads classes that every query needs, so that a client's first one does not wait for it. */
  public void warmUp() {
    root.range(0L, 1000L, 1L, 2).groupBy("id", new String[0]).count().collectAsList();
  }

  /** Sends the gateway's classes to executors in other processes. */
  public void shareClasses(String jar) {
    if (!root.sparkContext().isLocal()) root.sparkContext().addJar(jar);
  }
}
