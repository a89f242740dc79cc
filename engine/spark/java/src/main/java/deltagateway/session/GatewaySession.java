package deltagateway.session;

import deltagateway.analysis.ColumnLineage;
import deltagateway.analysis.VariableAssignment;
import deltagateway.cache.PlanCache;
import deltagateway.guard.PlanGuard;
import deltagateway.memory.MemoryGuard;
import deltagateway.optimizer.FiredRules;
import deltagateway.optimizer.OptimizerRule;
import deltagateway.protocol.ExceptionDetails;
import deltagateway.protocol.PythonCallbacks;
import deltagateway.protocol.RejectionException;
import deltagateway.protocol.StatementRequest;
import deltagateway.scan.PhysicalScans;
import deltagateway.write.TableWriter;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
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
import org.apache.spark.unsafe.Platform;

/**
 * One client's session: its own settings, current schema and temporary views over the shared Spark.
 *
 * <p>A statement is one call, made on the thread that runs it. {@link #cancel} is called on any
 * other thread; it reaches the statement also before it has a job and before it began.
 */
public final class GatewaySession {
  private static final String SCHEDULER_POOL = "spark.scheduler.pool";
  private static final int RECENT_MAX = 1000;
  private static final long CANCEL_INTERVAL_MS = 100;
  private static final long INTERRUPT_AFTER_MS = 1000;

  /** The session and the id of the statement that a thread runs. */
  private static final ThreadLocal<Object[]> CURRENT = new ThreadLocal<>();

  /**
   * Tasks look often enough whether they were killed. Interrupting their threads besides makes the
   * Arrow writer lose its buffers, and the clean-up of a write fail at its first access to the file
   * system.
   */
  private static final boolean INTERRUPT_TASKS = false;

  private final SparkSession spark;
  private final SessionSettings settings;
  private final SQLConf ofServer;
  private final PlanGuard guard;
  private final PythonCallbacks questions;
  private final MemoryGuard memory;
  private final TaskCounts tasks;
  private final PlanCache plans;

  /**
   * Id -> thread of each statement that runs. Locked where a thread must not go on to the next
   * statement.
   */
  private final Map<String, Thread> running = new ConcurrentHashMap<>();

  private final Set<String> exhausted = ConcurrentHashMap.newKeySet();
  private final Map<String, Boolean> cancelled = Collections.synchronizedMap(new Recent());

  /** Id -> {@link ColumnLineage} of statements that ended, until it is asked for. */
  private final Map<String, String> lineages = Collections.synchronizedMap(new Recent());

  /** Id -> {@link FiredRules} of the last call for a statement, until it is requested. */
  private final Map<String, String> fired = Collections.synchronizedMap(new Recent());

  /**
   * `questions` is what {@link FileListing} asks. `ofServer` are settings that no session changes.
   * `plans` are those of all sessions.
   */
  public GatewaySession(
      SparkSession spark,
      SQLConf ofServer,
      PlanGuard guard,
      PythonCallbacks questions,
      MemoryGuard memory,
      TaskCounts tasks,
      PlanCache plans) {
    this.spark = spark;
    this.settings = new SessionSettings(spark);
    this.ofServer = ofServer;
    this.guard = guard;
    this.questions = questions;
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

  /**
   * The settings that no session changes, with others over them: those that were captured with an
   * object.
   */
  public SQLConf ofServer(Map<String, String> captured) {
    if (captured.isEmpty()) return ofServer;
    SQLConf settings = ofServer.clone();
    for (Map.Entry<String, String> entry : captured.entrySet()) {
      settings.setConfString(entry.getKey(), entry.getValue());
    }
    return settings;
  }

  /** Runs a query and returns its frame (see Frame). */
  public byte[] run(String request) throws Exception {
    final StatementRequest parsed = new StatementRequest(request);
    return (byte[])
        within(
            parsed,
            new Work() {
              Object apply() throws Exception {
                StatementExecution statement =
                    new StatementExecution(spark, guard, parsed, GatewaySession.this);
                byte[] frame = statement.run();
                keepLineage(parsed, statement.asked());
                return frame;
              }
            });
  }

  /** The frame of a query's columns, without rows: Spark analyzes it, nothing runs. */
  public byte[] describe(String request) throws Exception {
    final StatementRequest parsed = new StatementRequest(request);
    return (byte[])
        within(
            parsed,
            new Work() {
              Object apply() throws Exception {
                return new StatementExecution(spark, guard, parsed, GatewaySession.this).describe();
              }
            });
  }

  /**
   * What a DECLARE or SET VARIABLE gives to which variables, or the rows of a query, as values of
   * Spark's.
   */
  public String values(String request) throws Exception {
    final StatementRequest parsed = new StatementRequest(request);
    return (String)
        within(
            parsed,
            new Work() {
              Object apply() throws Exception {
                StatementExecution statement =
                    new StatementExecution(spark, guard, parsed, GatewaySession.this);
                String values = new VariableAssignment(statement, spark, guard, parsed).values();
                keepLineage(parsed, statement.asked());
                return values;
              }
            });
  }

  /**
   * Analyzes what {@link #write} would run, with what the table demands of the rows; runs nothing.
   */
  public void checkWrite(String request, final String target) throws Exception {
    final StatementRequest parsed = new StatementRequest(request);
    final TableWriter writer = new TableWriter(this, StatementRequest.JSON.readTree(target));
    within(
        parsed,
        new Work() {
          Object apply() throws Exception {
            String key = writer.key(parsed, target);
            if (key != null && plans.write(key) != null) return null;
            StatementExecution statement =
                new StatementExecution(spark, guard, parsed, GatewaySession.this);
            long changes = settings.changes();
            keep(
                writer.enforced(statement.analyzed(), guard, parsed.id),
                statement,
                key,
                changes,
                writer.key(parsed, target));
            return null;
          }
        });
  }

  /**
   * A query whose rows are written, unless the session was changed since it had the key and so many
   * changes.
   */
  private void keep(
      QueryExecution enforced,
      StatementExecution statement,
      String key,
      long changes,
      String keyNow) {
    if (key == null || !key.equals(keyNow) || changes != settings.changes()) return;
    if (statement.isSameAgain(enforced)) plans.putWrite(key, enforced.analyzed());
  }

  /** Writes a query's rows into a table's folder and returns the files; see {@link TableWriter}. */
  public String write(String request, final String target) throws Exception {
    final StatementRequest parsed = new StatementRequest(request);
    final TableWriter writer = new TableWriter(this, StatementRequest.JSON.readTree(target));
    return (String)
        within(
            parsed,
            new Work() {
              Object apply() throws Exception {
                StatementExecution statement =
                    new StatementExecution(spark, guard, parsed, GatewaySession.this);
                long changes = settings.changes();
                String key = writer.key(parsed, target);
                LogicalPlan kept = key == null ? null : plans.write(key);
                if (kept != null) {
                  OptimizerRule.PLAN_CACHE.count();
                  QueryExecution again = statement.again(kept);
                  String files = written(again, writer, parsed);
                  keepLineage(parsed, again.analyzed());
                  return files;
                }
                QueryExecution source = statement.analyzed();
                QueryExecution literals = writer.literals(source, statement, guard, parsed.id);
                QueryExecution query =
                    literals == null ? writer.enforced(source, guard, parsed.id) : literals;
                if (literals == null)
                  keep(query, statement, key, changes, writer.key(parsed, target));
                String files =
                    literals == null
                        ? written(statement.atItsTime(query), writer, parsed)
                        : writer.writeLiterals(literals);
                keepLineage(parsed, query.analyzed());
                return files;
              }
            });
  }

  private String written(QueryExecution query, final TableWriter writer, StatementRequest request)
      throws Exception {
    if (!writer.mayBeOneTask() || !ExecutionSettings.mayBeOneTask(request))
      return writer.write(query);
    ExecutionSettings chosen = new ExecutionSettings(spark, settings);
    final StatementQueryExecution inOneTask =
        chosen.inOneTask(new StatementQueryExecution(spark, query.analyzed()));
    if (inOneTask == null) return writer.write(query);
    return (String)
        chosen.during(
            new scala.runtime.AbstractFunction0() {
              public Object apply() {
                try {
                  return writer.write(inOneTask);
                } catch (Exception failure) {
                  Platform.throwException(failure);
                  return null;
                }
              }
            });
  }

  private void keepLineage(StatementRequest request, LogicalPlan analyzed) throws Exception {
    if (!request.tellsLineage || analyzed == null) return;
    try {
      lineages.put(request.id, ColumnLineage.of(analyzed));
    } catch (RuntimeException failure) {
      lineages.remove(request.id); // the statement is done, whatever is known of it
    } catch (StackOverflowError failure) {
      lineages.remove(request.id);
    }
  }

  /**
   * See {@link ColumnLineage#of}, of the last query of a statement that asked for it; null where
   * there is none.
   */
  public String lineage(String statementId) {
    return lineages.remove(statementId);
  }

  /** Returns the rules that changed a plan in the statement's last call, with counts, as JSON. */
  public String firedRules(String statementId) {
    String rules = fired.remove(statementId);
    return rules == null ? "{}" : rules;
  }

  /**
   * Spark's own plan text; `mode` is simple, extended, codegen, cost or formatted. The files are
   * chosen besides.
   */
  public String explain(String request, final String mode) throws Exception {
    final StatementRequest parsed = new StatementRequest(request);
    return (String)
        within(
            parsed,
            new Work() {
              Object apply() throws Exception {
                StatementQueryExecution analyzed =
                    (StatementQueryExecution)
                        new StatementExecution(spark, guard, parsed, GatewaySession.this)
                            .analyzed();
                ExecutionSettings chosen = new ExecutionSettings(spark, settings);
                final StatementQueryExecution query = chosen.choose(analyzed, true);
                return chosen.during(
                    new scala.runtime.AbstractFunction0() {
                      public Object apply() {
                        PhysicalScans.chooseFiles(query.executedPlan());
                        return query.explainString(ExplainMode$.MODULE$.fromString(mode));
                      }
                    });
              }
            });
  }

  /**
   * Ends a statement. A stage that is submitted when its jobs have just been cancelled would run
   * (Spark's own cancelling of future jobs forgets the map stages of adaptive execution), so this
   * goes on until the statement ended.
   *
   * <p>While it is planned it has no jobs, and looks at the mark between two rules. Its thread is
   * interrupted besides, in case it waits for something; one that computes goes on to the rule's
   * end.
   */
  public void cancel(final String statementId) {
    cancelled.put(statementId, Boolean.TRUE);
    endJobs(statementId);
  }

  /** Ends a statement whose memory others need. */
  public void endForMemory(String statementId) {
    exhausted.add(statementId);
    if (running.containsKey(statementId)) endJobs(statementId);
    else exhausted.remove(statementId);
  }

  private void endJobs(final String statementId) {
    final SparkContext context = spark.sparkContext();
    Thread canceller =
        new Thread("cancel " + statementId) {
          public void run() {
            try {
              for (long waited = 0;
                  running.containsKey(statementId);
                  waited += CANCEL_INTERVAL_MS) {
                context.cancelJobGroup(statementId, "the statement was cancelled");
                boolean plans = context.statusTracker().getJobIdsForGroup(statementId).length == 0;
                if (plans && waited == INTERRUPT_AFTER_MS) interruptThread(statementId);
                Thread.sleep(CANCEL_INTERVAL_MS);
              }
            } catch (InterruptedException ended) {
              Thread.currentThread().interrupt();
            }
          }
        };
    canceller.setDaemon(true);
    canceller.start();
  }

  private void interruptThread(String statementId) {
    synchronized (running) {
      Thread thread = running.get(statementId);
      if (thread != null) thread.interrupt();
    }
  }

  PythonCallbacks questions() {
    return questions;
  }

  PlanCache plans() {
    return plans;
  }

  public void ensureLive(String statementId) {
    if (cancelled.containsKey(statementId)) throw new RejectionException("cancelled", statementId);
    if (exhausted.contains(statementId)) throw new RejectionException("memory", statementId);
  }

  /** Of the statement that this thread runs, if it runs one. */
  public static void ensureCurrentLive() {
    Object[] current = CURRENT.get();
    if (current != null) ((GatewaySession) current[0]).ensureLive((String) current[1]);
  }

  public void set(String key, String value) {
    settings.set(key, value);
  }

  public void unset(String key) {
    settings.unset(key);
  }

  /** The setting's value or default; null where there is none. */
  public String get(String key) {
    return (String)
        spark
            .conf()
            .getOption(key)
            .getOrElse(
                new scala.runtime.AbstractFunction0() {
                  public Object apply() {
                    return null;
                  }
                });
  }

  /** What `current_catalog()` and `current_schema()` answer. */
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

  private abstract static class Work {
    abstract Object apply() throws Exception;
  }

  /** Puts the thread's state in place for one statement, and takes it away whatever happens. */
  private Object within(StatementRequest request, Work work) throws Exception {
    SparkContext context = spark.sparkContext();
    InheritableThreadLocal<String> user = CurrentUserContext$.MODULE$.CURRENT_USER();
    SparkSession$.MODULE$.setActiveSession(spark);
    user.set(request.principal);
    context.setJobGroup(request.id, "statement " + request.id, INTERRUPT_TASKS);
    context.setLocalProperty(SCHEDULER_POOL, request.pool);
    CURRENT.set(new Object[] {this, request.id});
    running.put(request.id, Thread.currentThread());
    try {
      ensureLive(request.id);
      memory.admit(request.id, this);
      tasks.begin(request.id);
      FiredRules.begin(request.id);
      Object result = work.apply();
      ensureLive(request.id);
      return result;
    } catch (Throwable failure) {
      if (ExceptionDetails.isOutOfMemory(failure)) memory.awaitTasks(request.id);
      ensureLive(request.id); // whatever else it died of
      throw failure;
    } finally {
      leave(request.id);
      context.clearJobGroup();
      context.setLocalProperty(SCHEDULER_POOL, null);
      user.remove();
      SparkSession$.MODULE$.clearActiveSession();
      cancelled.remove(request.id);
    }
  }

  /** The statement runs no more, so nothing interrupts its thread, which goes on to another one. */
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

  /**
   * A statement may be cancelled when it has just ended, and nobody may ask for what is kept of it.
   */
  private static final class Recent extends LinkedHashMap {
    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > RECENT_MAX;
    }
  }
}
