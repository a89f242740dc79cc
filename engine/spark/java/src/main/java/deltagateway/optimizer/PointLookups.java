package deltagateway.optimizer;

import deltagateway.internals.ScalaConversions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.GlobalLimitExec;
import org.apache.spark.sql.execution.LocalLimitExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * Plans look-ups as such ({@link PointLookupExec}) where rows of one scan are filtered, sorted or
 * limited, and no more: an aggregate, a join or the first rows in an order take rows from the code
 * that filters them faster than from a look-up, and these may be many.
 */
public final class PointLookups extends Rule {
  private static final Set ABOVE =
      new HashSet<>(
          Arrays.asList(
              ProjectExec.class,
              SortExec.class,
              CollectLimitExec.class,
              LocalLimitExec.class,
              GlobalLimitExec.class));

  public TreeNode apply(TreeNode plan) {
    return in((SparkPlan) plan);
  }

  private static SparkPlan in(SparkPlan plan) {
    if (plan instanceof FilterExec) return PointLookupExec.of((FilterExec) plan);
    if (!ABOVE.contains(plan.getClass())) return plan;
    SparkPlan child = plan.children().head();
    SparkPlan better = in(child);
    if (better == child) return plan;
    if (plan instanceof ProjectExec && better instanceof PointLookupExec)
      return ((PointLookupExec) better).under((ProjectExec) plan);
    return plan.withNewChildren(ScalaConversions.seq(Arrays.asList(better)));
  }
}
