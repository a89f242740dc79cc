package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.one;

import java.util.Set;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.GlobalLimitExec;
import org.apache.spark.sql.execution.LocalLimitExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * Plans filters as point lookups ({@link PointLookupExec}) in queries that only filter, sort or
 * limit the rows of one scan. Aggregates, joins and the first rows in an order take rows from
 * generated code faster than from a lookup, and may take many.
 */
public final class PointLookups extends SwitchedRule<SparkPlan> {
  private static final Set<Class<? extends SparkPlan>> PARENTS =
      Set.of(
          ProjectExec.class,
          SortExec.class,
          CollectLimitExec.class,
          LocalLimitExec.class,
          GlobalLimitExec.class);

  public PointLookups() {
    super(OptimizerRule.POINT_LOOKUPS);
  }

  @Override
  SparkPlan rewritePlan(SparkPlan plan) {
    if (plan instanceof FilterExec filter) return PointLookupExec.of(filter);
    if (!PARENTS.contains(plan.getClass())) return plan;
    SparkPlan child = plan.children().head();
    SparkPlan rewritten = rewritePlan(child);
    if (rewritten == child) return plan;
    return plan instanceof ProjectExec project && rewritten instanceof PointLookupExec lookup
        ? lookup.under(project)
        : plan.withNewChildren(one(rewritten));
  }
}
