/**
 * The gateway's own rules and strategies for Spark's optimizer and planner, with the estimates that
 * they need.
 *
 * <p>{@link deltagateway.optimizer.SemiJoinReduction} is a small example of a rule; {@link
 * deltagateway.session.GatewayDriver} adds those that all sessions have.
 */
package deltagateway.optimizer;
