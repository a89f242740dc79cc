/**
 * The gateway's rules and strategies for Spark's optimizer and planner, with the estimates that
 * they need.
 *
 * <p>{@link deltagateway.optimizer.OptimizerRule} lists all rules; {@link
 * deltagateway.optimizer.SemiJoinReduction} is a small example. {@link
 * deltagateway.session.GatewayDriver} registers those that Spark applies, {@link
 * deltagateway.session.ExecutionSettings} applies those that need the size of a query's scans.
 */
package deltagateway.optimizer;
