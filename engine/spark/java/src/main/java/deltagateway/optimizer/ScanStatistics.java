package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.rewrite;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Gives Spark's cost model the statistics that the log has for the files of each scan that remain
 * after pruning. It runs after filters and columns were pushed down, before joins are ordered, in
 * statements that plan by cost.
 *
 * <p>After joins are ordered, {@link #forBroadcasts} withdraws statistics that serve their order
 * alone. Among these are the bounds of columns that are compared with another column: Spark assumes
 * that a third of the rows remain if the ranges of both overlap. That is as good a guess as any for
 * an order of joins, but a broadcast relation must fit into memory even if all rows remain.
 */
public final class ScanStatistics extends SwitchedRule<LogicalPlan> {
  public ScanStatistics() {
    super(OptimizerRule.SCAN_STATISTICS);
  }

  /** Returns an optimized plan without the statistics that only serve to order joins. */
  public static LogicalPlan forBroadcasts(LogicalPlan optimized) {
    Set<ExprId> compared = new HashSet<>();
    optimized.transformUpWithSubqueries(
        rewrite(
            plan -> {
              if (plan instanceof Filter filter) {
                EstimatedFilters.addComparedColumns(filter.condition(), compared);
              }
              return plan;
            }));
    return optimized.transformUpWithSubqueries(
        rewrite(
            plan ->
                plan instanceof EstimatedRelation relation
                    ? relation.forBroadcasts(compared)
                    : plan));
  }

  @Override
  LogicalPlan rewritePlan(LogicalPlan plan) {
    if (!conf().cboEnabled()) return plan;
    Map<LogicalRelation, EstimatedRelation> estimated = new RemainingFiles(plan).estimated();
    if (estimated.isEmpty()) return plan;
    return plan.transformUp(
        rewrite(
            node ->
                node instanceof LogicalRelation relation && estimated.containsKey(relation)
                    ? estimated.get(relation)
                    : node));
  }
}
