package deltagateway;

import java.util.UUID;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode$;
import org.apache.spark.sql.execution.QueryExecution;

/** A query that has been analyzed and optimized before. */
final class OptimizedQuery extends QueryExecution {
  private final LogicalPlan analyzed;
  private final LogicalPlan optimized;

  OptimizedQuery(SparkSession spark, LogicalPlan analyzed, LogicalPlan optimized) {
    super(
        spark,
        analyzed,
        new QueryPlanningTracker(Scala.none()),
        CommandExecutionMode$.MODULE$.SKIP(),
        Scala.none(),
        false,
        UUID.randomUUID(),
        Scala.none());
    this.analyzed = analyzed;
    this.optimized = optimized;
  }

  public LogicalPlan analyzed() {
    return analyzed;
  }

  public LogicalPlan optimizedPlan() {
    return optimized;
  }
}
