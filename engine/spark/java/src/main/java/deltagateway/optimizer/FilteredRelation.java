package deltagateway.optimizer;

import static deltagateway.internals.ScalaConversions.list;
import static deltagateway.internals.ScalaConversions.orNull;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.planning.ScanOperation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A scan of a table with the projections and filters above it. `upperFilters` use columns that a
 * projection computes, `filters` only those of the relation.
 */
record FilteredRelation(
    List<NamedExpression> projections,
    List<Expression> upperFilters,
    List<Expression> filters,
    LogicalRelation relation) {
  /** Returns null for other plans, and for relations that are not scans of the gateway. */
  static FilteredRelation of(LogicalPlan plan) {
    var found = orNull(ScanOperation$.MODULE$.unapply(plan));
    if (found == null || !RemainingFiles.isOurs(found._4())) return null;
    return new FilteredRelation(
        list(found._1()), list(found._2()), list(found._3()), (LogicalRelation) found._4());
  }
}
