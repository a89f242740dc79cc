package deltagateway.session;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/** Query that has been analyzed and optimized before. */
final class OptimizedQueryExecution extends StatementQueryExecution {
  private final LogicalPlan analyzed;
  private final LogicalPlan optimized;

  OptimizedQueryExecution(SparkSession spark, LogicalPlan analyzed, LogicalPlan optimized) {
    super(spark, analyzed);
    this.analyzed = analyzed;
    this.optimized = optimized;
  }

  @Override
  public LogicalPlan analyzed() {
    return analyzed;
  }

  @Override
  public LogicalPlan optimizedPlan() {
    return optimized;
  }
}
