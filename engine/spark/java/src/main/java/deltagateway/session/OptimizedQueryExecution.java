package deltagateway.session;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/** A query that has been analyzed and optimized before. */
public final class OptimizedQueryExecution extends StatementQueryExecution {
  private final LogicalPlan analyzed;
  private final LogicalPlan optimized;

  OptimizedQueryExecution(SparkSession spark, LogicalPlan analyzed, LogicalPlan optimized) {
    super(spark, analyzed);
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
