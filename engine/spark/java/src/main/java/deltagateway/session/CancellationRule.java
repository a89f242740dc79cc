package deltagateway.session;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/**
 * Ends the analysis or optimization of a canceled statement between two rules; changes no plan.
 * Spark checks for no cancellation there, and a large query is optimized for minutes.
 */
final class CancellationRule extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    GatewaySession.ensureCurrentLive();
    return plan;
  }
}
