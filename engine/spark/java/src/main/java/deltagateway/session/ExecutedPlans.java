package deltagateway.session;

import static deltagateway.internals.ScalaConversions.list;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltagateway.protocol.StatementRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.ui.SQLAppStatusStore;
import org.apache.spark.sql.execution.ui.SQLExecutionUIData;
import org.apache.spark.sql.execution.ui.SQLPlanMetric;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.execution.ui.SparkPlanGraph;
import org.apache.spark.sql.execution.ui.SparkPlanGraphCluster;
import org.apache.spark.sql.execution.ui.SparkPlanGraphEdge;
import org.apache.spark.sql.execution.ui.SparkPlanGraphNode;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * Plans that Spark executed for a statement, with their metrics from its SQL status store. The
 * store identifies executions by number; an execution's job group is the statement's id.
 */
final class ExecutedPlans extends SparkListener {
  private static final int STATEMENTS_MAX = 200;
  private static final int PLANS_MAX = 20;
  private static final int NODES_MAX = 2000;
  private static final int TEXT_MAX = 4000;

  /** Numbers of a statement's executions. */
  private final RecentEntries<List<Long>> executions = new RecentEntries<>(STATEMENTS_MAX);

  @Override
  public synchronized void onOtherEvent(SparkListenerEvent event) {
    if (!(event instanceof SparkListenerSQLExecutionStart start) || start.jobGroupId().isEmpty())
      return;
    List<Long> numbers =
        executions.computeIfAbsent(start.jobGroupId().get(), id -> new ArrayList<>());
    if (numbers.size() < PLANS_MAX) numbers.add(start.executionId());
  }

  private synchronized List<Long> numbers(String id) {
    return List.copyOf(executions.getOrDefault(id, List.of()));
  }

  /**
   * Returns an array of the plans; executions that the store has evicted are missing. `repeated` is
   * the execution of an earlier statement whose tasks ran again, or null.
   */
  String json(SQLAppStatusStore store, String id, Long repeated) {
    ArrayNode plans = StatementRequest.JSON.createArrayNode();
    for (long number : numbers(id)) add(plans, store, number, false);
    if (repeated != null) add(plans, store, repeated, true);
    return plans.toString();
  }

  private static void add(
      ArrayNode plans, SQLAppStatusStore store, long number, boolean isRepeated) {
    try {
      Option<SQLExecutionUIData> execution = store.execution(number);
      if (execution.isDefined()) plans.add(plan(store, execution.get(), isRepeated));
    } catch (NoSuchElementException evicted) {
      return;
    }
  }

  private static ObjectNode plan(
      SQLAppStatusStore store, SQLExecutionUIData execution, boolean isRepeated) {
    SparkPlanGraph graph = store.planGraph(execution.executionId());
    Map<Object, String> values = store.executionMetrics(execution.executionId());
    ObjectNode plan = StatementRequest.JSON.createObjectNode();
    plan.put("id", execution.executionId());
    plan.put("began_ms", execution.submissionTime());
    plan.put("is_repeated", isRepeated);
    if (execution.completionTime().isDefined())
      plan.put(
          "duration_ms", execution.completionTime().get().getTime() - execution.submissionTime());
    ArrayNode nodes = plan.putArray("nodes");
    for (SparkPlanGraphNode node : list(graph.nodes())) addNode(nodes, node, values, null);
    ArrayNode edges = plan.putArray("edges");
    for (SparkPlanGraphEdge edge : list(graph.edges()))
      edges.addObject().put("from", edge.fromId()).put("to", edge.toId());
    return plan;
  }

  /** `cluster` is the id of the node for the generated code that has the node; or null. */
  private static void addNode(
      ArrayNode nodes, SparkPlanGraphNode node, Map<Object, String> values, Long cluster) {
    if (nodes.size() >= NODES_MAX) return;
    String description = node.desc();
    ObjectNode added = nodes.addObject();
    added.put("id", node.id());
    added.put("name", node.name());
    added.put("description", description.substring(0, Math.min(TEXT_MAX, description.length())));
    if (cluster != null) added.put("cluster", cluster);
    ArrayNode metrics = added.putArray("metrics");
    for (SQLPlanMetric metric : list(node.metrics())) {
      Option<String> value = values.get(metric.accumulatorId());
      if (value.isDefined())
        metrics
            .addObject()
            .put("name", metric.name())
            .put("type", metric.metricType())
            .put("value", value.get());
    }
    if (node instanceof SparkPlanGraphCluster group)
      for (SparkPlanGraphNode inner : list(group.nodes())) addNode(nodes, inner, values, node.id());
  }
}
