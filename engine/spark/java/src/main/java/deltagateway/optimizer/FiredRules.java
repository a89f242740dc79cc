package deltagateway.optimizer;

import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext$;
import org.apache.spark.TaskContext;

/**
 * Counts, for each running statement, how often each rule changed its plan, or a cache was used.
 *
 * <p>Subqueries are planned on threads of Spark, and columns are read in tasks. Both have the job
 * group of their statement, which is its id. Executors in other processes count nothing.
 */
public final class FiredRules {
  private static final String JOB_GROUP = "spark.jobGroup.id";
  private static final Map<String, FiredRules> STATEMENTS = new ConcurrentHashMap<>();

  private final Map<OptimizerRule, Long> counts = new EnumMap<>(OptimizerRule.class);

  private FiredRules() {}

  /** Begins to count for a statement. */
  public static FiredRules begin(String statementId) {
    var begun = new FiredRules();
    STATEMENTS.put(statementId, begun);
    return begun;
  }

  /** Returns the counts of a running statement; none if it has not begun. */
  public static FiredRules of(String statementId) {
    return STATEMENTS.getOrDefault(statementId, new FiredRules());
  }

  /** Ends the counting for a statement, and returns its counts. */
  public static FiredRules end(String statementId) {
    FiredRules ended = STATEMENTS.remove(statementId);
    return ended == null ? new FiredRules() : ended;
  }

  static void count(OptimizerRule rule) {
    if (STATEMENTS.isEmpty()) return;
    String statementId = currentStatement();
    FiredRules running = statementId == null ? null : STATEMENTS.get(statementId);
    if (running != null) running.add(rule);
  }

  private static String currentStatement() {
    TaskContext task = TaskContext.get();
    if (task != null) return task.getLocalProperty(JOB_GROUP);
    var context = SparkContext$.MODULE$.getActive();
    return context.isDefined() ? context.get().getLocalProperty(JOB_GROUP) : null;
  }

  private synchronized void add(OptimizerRule rule) {
    counts.merge(rule, 1L, Long::sum);
  }

  /** Returns the counts by the rules' names, in the order of the registry. */
  public synchronized ObjectNode json() {
    ObjectNode named = StatementRequest.JSON.createObjectNode();
    counts.forEach((rule, count) -> named.put(rule.ruleName(), count));
    return named;
  }
}
