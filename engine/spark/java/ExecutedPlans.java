package deltagateway;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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

/**
 * The plans that Spark executed for a statement, with their metrics, as its SQL status store has them. The store knows
 * executions by number; an execution's job group is the statement's id.
 */
final class ExecutedPlans extends SparkListener {
  private static final int STATEMENTS_MAX = 200, PLANS_MAX = 20, NODES_MAX = 2000, TEXT_MAX = 4000;

  /** Statement -> numbers of its executions. */
  private final Map executions = new Recent();

  private static final class Recent extends LinkedHashMap {
    protected boolean removeEldestEntry(Map.Entry eldest) {
      return size() > STATEMENTS_MAX;
    }
  }

  public synchronized void onOtherEvent(SparkListenerEvent event) {
    if (!(event instanceof SparkListenerSQLExecutionStart)) return;
    SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
    if (start.jobGroupId().isEmpty()) return;
    Object id = start.jobGroupId().get();
    if (!executions.containsKey(id)) executions.put(id, new ArrayList());
    List own = (List) executions.get(id);
    if (own.size() < PLANS_MAX) own.add(Long.valueOf(start.executionId()));
  }

  synchronized List numbers(String id) {
    List own = (List) executions.get(id);
    return own == null ? new ArrayList() : new ArrayList(own);
  }

  /**
   * An array of the plans; executions that the store has dropped are left out. `repeated` is the execution of an earlier
   * statement whose tasks ran again, or null.
   */
  String json(SQLAppStatusStore store, String id, Long repeated) {
    ArrayNode plans = Request.JSON.createArrayNode();
    Iterator numbers = numbers(id).iterator();
    while (numbers.hasNext()) add(plans, store, ((Long) numbers.next()).longValue(), false);
    if (repeated != null) add(plans, store, repeated.longValue(), true);
    return plans.toString();
  }

  private static void add(ArrayNode plans, SQLAppStatusStore store, long number, boolean isRepeated) {
    try {
      if (store.execution(number).isEmpty()) return;
      add(plans, store, (SQLExecutionUIData) store.execution(number).get(), isRepeated);
    } catch (NoSuchElementException dropped) {
      return;
    }
  }

  private static void add(
      ArrayNode plans, SQLAppStatusStore store, SQLExecutionUIData execution, boolean isRepeated) {
    SparkPlanGraph graph = store.planGraph(execution.executionId());
    scala.collection.immutable.Map values = store.executionMetrics(execution.executionId());
    ObjectNode plan = Request.JSON.createObjectNode();
    plan.put("id", execution.executionId());
    plan.put("began_ms", execution.submissionTime());
    plan.put("is_repeated", isRepeated);
    if (execution.completionTime().isDefined()) {
      plan.put("duration_ms", ((Date) execution.completionTime().get()).getTime() - execution.submissionTime());
    }
    ArrayNode nodes = plan.putArray("nodes");
    Iterator all = Scala.list(graph.nodes()).iterator();
    while (all.hasNext()) addNode(nodes, (SparkPlanGraphNode) all.next(), values, null);
    ArrayNode edges = plan.putArray("edges");
    Iterator pairs = Scala.list(graph.edges()).iterator();
    while (pairs.hasNext()) {
      SparkPlanGraphEdge edge = (SparkPlanGraphEdge) pairs.next();
      ObjectNode added = edges.addObject();
      added.put("from", edge.fromId());
      added.put("to", edge.toId());
    }
    plans.add(plan);
  }

  private static void addNode(
      ArrayNode nodes, SparkPlanGraphNode node, scala.collection.immutable.Map values, Long cluster) {
    if (nodes.size() >= NODES_MAX) return;
    ObjectNode added = nodes.addObject();
    added.put("id", node.id());
    added.put("name", node.name());
    added.put("description", node.desc().length() > TEXT_MAX ? node.desc().substring(0, TEXT_MAX) : node.desc());
    if (cluster != null) added.put("cluster", cluster);
    ArrayNode metrics = added.putArray("metrics");
    Iterator all = Scala.list(node.metrics()).iterator();
    while (all.hasNext()) {
      SQLPlanMetric metric = (SQLPlanMetric) all.next();
      scala.Option value = values.get(Long.valueOf(metric.accumulatorId()));
      if (value.isEmpty()) continue;
      ObjectNode shown = metrics.addObject();
      shown.put("name", metric.name());
      shown.put("type", metric.metricType());
      shown.put("value", (String) value.get());
    }
    if (!(node instanceof SparkPlanGraphCluster)) return;
    Iterator inner = Scala.list(((SparkPlanGraphCluster) node).nodes()).iterator();
    while (inner.hasNext()) addNode(nodes, (SparkPlanGraphNode) inner.next(), values, Long.valueOf(node.id()));
  }
}
