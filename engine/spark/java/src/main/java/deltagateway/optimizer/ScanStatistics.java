package deltagateway.optimizer;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Asks the log of each scan of ours, when filters and columns are pushed down to it and before
 * joins are ordered by cost, what the files that are left hold; where the statement plans by cost.
 * When they are ordered, what was asked for this alone is forgotten, and so is by how much a column
 * that is less than another one leaves out rows: Spark takes it that a third is left where values
 * of both may be the same. In an order of joins that is as good a guess as any, but what is
 * broadcast for it has to fit into memory when nothing is left out.
 */
public final class ScanStatistics extends Rule {
  /** An optimized plan, with what its scans are known to hold where nothing is ordered any more. */
  public static LogicalPlan ordered(LogicalPlan optimized) {
    final Set guessed = new HashSet<>();
    optimized.transformUpWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return false;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            if (node instanceof Filter)
              EstimatedFilters.addGuessed(((Filter) node).condition(), guessed);
            return otherwise.apply(node);
          }
        });
    return optimized.transformUpWithSubqueries(
        new scala.runtime.AbstractPartialFunction() {
          public boolean isDefinedAt(Object node) {
            return node instanceof EstimatedRelation;
          }

          public Object applyOrElse(Object node, scala.Function1 otherwise) {
            return isDefinedAt(node)
                ? ((EstimatedRelation) node).ordered(guessed)
                : otherwise.apply(node);
          }
        });
  }

  public TreeNode apply(TreeNode plan) {
    if (!conf().cboEnabled()) return plan;
    final Map<LogicalRelation, EstimatedRelation> estimated =
        new RemainingFiles((LogicalPlan) plan).estimated();
    if (estimated.isEmpty()) return plan;
    return ((LogicalPlan) plan)
        .transformUp(
            new scala.runtime.AbstractPartialFunction() {
              public boolean isDefinedAt(Object node) {
                return estimated.containsKey(node);
              }

              public Object applyOrElse(Object node, scala.Function1 otherwise) {
                return isDefinedAt(node) ? estimated.get(node) : otherwise.apply(node);
              }
            });
  }
}
