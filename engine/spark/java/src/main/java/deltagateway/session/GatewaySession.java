package deltagateway.session;

import com.fasterxml.jackson.core.JsonProcessingException;
import deltagateway.analysis.ColumnLineage;
import deltagateway.analysis.VariableAssignment;
import deltagateway.cache.PlanCache;
import deltagateway.connect.ObservedMetrics;
import deltagateway.guard.PlanGuard;
import deltagateway.internals.ScalaConversions;
import deltagateway.memory.MemoryGuard;
import deltagateway.optimizer.FiredRules;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.protocol.ExceptionDetails;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PhysicalScans;
import deltagateway.write.LiteralPlan;
import deltagateway.write.LiteralValues;
import deltagateway.write.TableWriter;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.CurrentUserContext$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.ExplainMode$;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Session of one client: its settings, current schema and temporary views over the shared Spark.
 *
 * <p>A statement is one call, made on the thread that runs it. {@link #cancel} is called on any
 * other thread; it also reaches a statement that has no job yet or has not begun.
 */
public final class GatewaySession {
  private static final String SCHEDULER_POOL = "spark.scheduler.pool";
  private static final int RECENT_MAX = 1000;
  private static final long CANCEL_INTERVAL_MS = 100;
  private static final long INTERRUPT_AFTER_MS = 1000;

  /** Statement that a thread runs. */
  private record CurrentStatement(GatewaySession session, String id) {}

  private static final ThreadLocal<CurrentStatement> CURRENT = new ThreadLocal<>();

  /**
   * Tasks check often enough if they were killed. Interrupts of their threads would make the Arrow
   * writer lose its buffers, and the clean-up of a write fail at its first access to the file
   * system.
   */
  private static final boolean INTERRUPT_TASKS = false;

  private final SparkSession spark;
  private final SessionSettings settings;
  private final SQLConf ofServer;
  private final PlanGuard guard;
  private final PythonCallbacks callbacks;
  private final MemoryGuard memory;
  private final TaskCounts tasks;
  private final PlanCache plans;

  /** Threads of the running statements; locked while a thread must not begin another one. */
  private final Map<String, Thread> running = new ConcurrentHashMap<>();

  /** Statements that were ended because others need their memory. */
  private final Set<String> exhausted = ConcurrentHashMap.newKeySet();

  /** Canceled statements: one may be canceled just after its end. */
  private final Map<String, Boolean> canceled =
      Collections.synchronizedMap(new RecentEntries<>(RECENT_MAX));

  /** {@link ColumnLineage} of ended statements, until it is requested. */
  private final Map<String, String> lineages =
      Collections.synchronizedMap(new RecentEntries<>(RECENT_MAX));

  /** {@link ObservedMetrics} of statements, until they are requested. */
  private final Map<String, String> observed =
      Collections.synchronizedMap(new RecentEntries<>(RECENT_MAX));

  /** {@link FiredRules} of a statement's last call, until they are requested. */
  private final Map<String, String> fired =
      Collections.synchronizedMap(new RecentEntries<>(RECENT_MAX));

  /** `ofServer` are settings that no session changes; `plans` is shared by all sessions. */
  public GatewaySession(
      SparkSession spark,
      SQLConf ofServer,
      PlanGuard guard,
      PythonCallbacks callbacks,
      MemoryGuard memory,
      TaskCounts tasks,
      PlanCache plans) {
    this.spark = spark;
    this.settings = new SessionSettings(spark);
    this.ofServer = ofServer;
    this.guard = guard;
    this.callbacks = callbacks;
    this.memory = memory;
    this.tasks = tasks;
    this.plans = plans;
  }

  public SparkSession spark() {
    return spark;
  }

  SessionSettings settings() {
    return settings;
  }

  PythonCallbacks callbacks() {
    return callbacks;
  }

  PlanCache plans() {
    return plans;
  }

  /** Returns the settings that no session changes, with those captured with an object. */
  public SQLConf ofServer(Map<String, String> captured) {
    return captured.isEmpty() ? ofServer : SessionSettings.with(ofServer, captured);
  }

  /** Runs a query and returns its {@link deltagateway.protocol.ResponseFrame}. */
  public byte[] run(String json) throws Exception {
    StatementRequest request = new StatementRequest(json);
    return within(
        request,
        () -> {
          StatementExecution statement = execution(request);
          byte[] frame = statement.run();
          recordLineage(request, statement.analyzedQuery());
          return frame;
        });
  }

  /** Returns the frame of a query's columns, without rows: Spark analyzes it, nothing runs. */
  public byte[] describe(String json) throws Exception {
    StatementRequest request = new StatementRequest(json);
    return within(request, () -> execution(request).describe());
  }

  /** Returns the rules and the result of {@link VariableAssignment#values}. */
  public String values(String json) throws Exception {
    StatementRequest request = new StatementRequest(json);
    return withRules(
        request,
        () -> {
          StatementExecution statement = execution(request);
          String values = new VariableAssignment(statement, guard, request).values();
          recordLineage(request, statement.analyzedQuery());
          return values;
        });
  }

  /**
   * Analyzes the query that {@link #write} would run, with the table's requirements on its rows;
   * runs nothing.
   */
  public void checkWrite(String json, String target) throws Exception {
    StatementRequest request = new StatementRequest(json);
    TableWriter writer = new TableWriter(this, StatementRequest.JSON.readTree(target));
    within(
        request,
        () -> {
          String key = writer.key(request, target);
          if (key != null && plans.write(key) != null) return null;
          StatementExecution statement = execution(request);
          long changes = settings.changes();
          QueryExecution enforced = writer.enforced(statement.analyzed(), guard, request.id);
          cacheWrite(enforced, statement, key, changes, writer.key(request, target));
          return null;
        });
  }

  /**
   * Caches a query whose rows are written, unless the session has changed since it had the key and
   * this number of changes.
   */
  private void cacheWrite(
      QueryExecution enforced,
      StatementExecution statement,
      String key,
      long changes,
      String currentKey) {
    if (key == null || !key.equals(currentKey) || changes != settings.changes()) return;
    if (statement.isSameAgain(enforced)) plans.putWrite(key, enforced.analyzed());
  }

  /**
   * Writes a query's rows into a table's folder and returns the rules and the files; see {@link
   * TableWriter}.
   */
  public String write(String json, String target) throws Exception {
    StatementRequest request = new StatementRequest(json);
    TableWriter writer = new TableWriter(this, StatementRequest.JSON.readTree(target));
    return withRules(
        request,
        () -> {
          StatementExecution statement = execution(request);
          long changes = settings.changes();
          String key = writer.key(request, target);
          LogicalPlan cached = key == null ? null : plans.write(key);
          if (cached != null) {
            OptimizerRule.PLAN_CACHE.count();
            QueryExecution query = statement.again(cached);
            String files = writeRows(query, writer, request);
            recordLineage(request, query.analyzed());
            return files;
          }
          LiteralValues values = writer.literalValues(request);
          String literalsKey = values == null ? null : writer.literalsKey(request, values);
          LiteralPlan known = literalsKey == null ? null : plans.literals(literalsKey);
          LogicalPlan rows = known == null ? null : writer.evaluated(known, values);
          if (rows != null) {
            OptimizerRule.PLAN_CACHE.count();
            String files = writer.writeLiterals(rows);
            recordLineage(request, known.analyzed());
            return files;
          }
          QueryExecution source = statement.analyzed();
          TableWriter.Literals literals = writer.literals(source, statement, guard, request.id);
          if (literals != null) {
            String files = writer.writeLiterals(literals.query().optimizedPlan());
            recordLineage(request, literals.query().analyzed());
            if (literalsKey != null && known == null && plans.recursLiterals(literalsKey)) {
              LiteralPlan plan = writer.literalPlan(literals, values, statement);
              boolean isUnchanged =
                  changes == settings.changes()
                      && literalsKey.equals(writer.literalsKey(request, values));
              if (plan != null && isUnchanged) plans.putLiterals(literalsKey, plan);
            }
            return files;
          }
          QueryExecution query = writer.enforced(source, guard, request.id);
          cacheWrite(query, statement, key, changes, writer.key(request, target));
          String files = writeRows(statement.atItsTime(query), writer, request);
          recordLineage(request, query.analyzed());
          return files;
        });
  }

  private String writeRows(QueryExecution query, TableWriter writer, StatementRequest request)
      throws Exception {
    if (!writer.mayBeOneTask() || !ExecutionSettings.mayBeOneTask(request))
      return written(query, writer, request);
    ExecutionSettings chosen = new ExecutionSettings(spark, settings);
    StatementQueryExecution inOneTask =
        chosen.inOneTask(new StatementQueryExecution(spark, query.analyzed()));
    return inOneTask == null
        ? written(query, writer, request)
        : chosen.during(() -> written(inOneTask, writer, request));
  }

  private String written(QueryExecution query, TableWriter writer, StatementRequest request)
      throws Exception {
    String files = writer.write(query);
    recordObserved(request.id, query);
    return files;
  }

  private void recordLineage(StatementRequest request, LogicalPlan analyzed)
      throws JsonProcessingException {
    if (!request.reportsLineage || analyzed == null) return;
    try {
      lineages.put(request.id, ColumnLineage.toJson(analyzed));
    } catch (RuntimeException | StackOverflowError failure) {
      lineages.remove(request.id); // the statement has succeeded without it
    }
  }

  /**
   * Returns {@link ColumnLineage#toJson} of the last query of a statement that requested it; null
   * if it is unknown.
   */
  public String lineage(String statementId) {
    return lineages.remove(statementId);
  }

  /** Records the metrics of a plan that has run. */
  void recordObserved(String statementId, QueryExecution executed) {
    if (ObservedMetrics.isIn(executed.analyzed()))
      observed.put(statementId, ObservedMetrics.toJson(executed));
  }

  /** Returns {@link ObservedMetrics#toJson} of a statement's last plan; null if it has none. */
  public String observed(String statementId) {
    return observed.remove(statementId);
  }

  /**
   * Returns the result after a line with the rules that changed its plans, with counts, as JSON.
   */
  private String withRules(StatementRequest request, Callable<String> work) throws Exception {
    String result = within(request, work);
    String rules = fired.remove(request.id);
    return (rules == null ? "{}" : rules) + "\n" + result;
  }

  /**
   * Returns the rules and Spark's plan text, after the selection of files; `mode` is simple,
   * extended, codegen, cost or formatted.
   */
  public String explain(String json, String mode) throws Exception {
    StatementRequest request = new StatementRequest(json);
    return withRules(
        request,
        () -> {
          QueryExecution analyzed = execution(request).analyzed();
          ExecutionSettings chosen = new ExecutionSettings(spark, settings);
          StatementQueryExecution query = chosen.choose((StatementQueryExecution) analyzed, true);
          return chosen.during(
              () -> {
                PhysicalScans.chooseFiles(query.executedPlan());
                return query.explainString(ExplainMode$.MODULE$.fromString(mode));
              });
        });
  }

  private StatementExecution execution(StatementRequest request) {
    return new StatementExecution(spark, guard, request, this);
  }

  /**
   * Ends a statement. A stage that is submitted after the cancellation of its jobs would run
   * (Spark's own cancellation of future jobs omits the map stages of adaptive execution), so the
   * cancellation is repeated until the statement has ended.
   *
   * <p>While the statement is planned it has no jobs, and is checked between two rules. Its thread
   * is interrupted too, in case it waits; one that computes continues to the rule's end.
   */
  public void cancel(String statementId) {
    canceled.put(statementId, true);
    endJobs(statementId);
  }

  /** Ends a statement whose memory others need. */
  public void endForMemory(String statementId) {
    exhausted.add(statementId);
    if (running.containsKey(statementId)) endJobs(statementId);
    else exhausted.remove(statementId);
  }

  private void endJobs(String statementId) {
    Thread canceler = new Thread(() -> endJobsRepeatedly(statementId), "cancel " + statementId);
    canceler.setDaemon(true);
    canceler.start();
  }

  private void endJobsRepeatedly(String statementId) {
    SparkContext context = spark.sparkContext();
    try {
      for (long waited = 0; running.containsKey(statementId); waited += CANCEL_INTERVAL_MS) {
        context.cancelJobGroup(statementId, "the statement was cancelled");
        boolean isPlanned = context.statusTracker().getJobIdsForGroup(statementId).length == 0;
        if (isPlanned && waited == INTERRUPT_AFTER_MS) interruptThread(statementId);
        Thread.sleep(CANCEL_INTERVAL_MS);
      }
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    }
  }

  private void interruptThread(String statementId) {
    synchronized (running) {
      Thread thread = running.get(statementId);
      if (thread != null) thread.interrupt();
    }
  }

  public void ensureLive(String statementId) {
    if (canceled.containsKey(statementId)) throw new RejectionException("cancelled", statementId);
    if (exhausted.contains(statementId)) throw new RejectionException("memory", statementId);
  }

  /** Checks the statement that this thread runs, if it runs one. */
  public static void ensureCurrentLive() {
    CurrentStatement current = CURRENT.get();
    if (current != null) current.session().ensureLive(current.id());
  }

  public void set(String key, String value) {
    settings.set(key, value);
  }

  public void unset(String key) {
    settings.unset(key);
  }

  /** Returns the setting's value or default; null if it has none. */
  public String get(String key) {
    return ScalaConversions.orNull(spark.conf().getOption(key));
  }

  /** Sets the results of `current_catalog()` and `current_schema()`. */
  public void setCurrentSchema(String catalog, String schema) {
    settings.change("spark.sql.catalog." + catalog, NameOnlyCatalog.class.getName());
    SparkSession$.MODULE$.setActiveSession(spark);
    try {
      CatalogManager catalogs = spark.sessionState().catalogManager();
      catalogs.setCurrentCatalog(catalog);
      catalogs.setCurrentNamespace(new String[] {schema});
    } finally {
      SparkSession$.MODULE$.clearActiveSession();
    }
  }

  /** Runs `work` with the thread's state of one statement. */
  private <T> T within(StatementRequest request, Callable<T> work) throws Exception {
    SparkContext context = spark.sparkContext();
    InheritableThreadLocal<String> user = CurrentUserContext$.MODULE$.CURRENT_USER();
    SparkSession$.MODULE$.setActiveSession(spark);
    user.set(request.principal);
    context.setJobGroup(request.id, "statement " + request.id, INTERRUPT_TASKS);
    context.setLocalProperty(SCHEDULER_POOL, request.pool);
    CURRENT.set(new CurrentStatement(this, request.id));
    running.put(request.id, Thread.currentThread());
    try {
      ensureLive(request.id);
      memory.admit(request.id, this);
      tasks.begin(request.id);
      FiredRules.begin(request.id);
      T result = work.call();
      ensureLive(request.id);
      return result;
    } catch (Throwable failure) {
      if (ExceptionDetails.isOutOfMemory(failure)) memory.awaitTasks(request.id);
      ensureLive(request.id); // a cancellation is reported before any other failure
      throw failure;
    } finally {
      leave(request.id);
      context.clearJobGroup();
      context.setLocalProperty(SCHEDULER_POOL, null);
      user.remove();
      SparkSession$.MODULE$.clearActiveSession();
      canceled.remove(request.id);
    }
  }

  /** Removes a statement, so that nothing interrupts its thread, which begins another one. */
  private void leave(String id) {
    memory.leave(id);
    tasks.end(id);
    fired.put(id, FiredRules.end(id).json().toString());
    CURRENT.remove();
    synchronized (running) {
      running.remove(id);
      Thread.interrupted();
    }
    exhausted.remove(id);
  }
}
